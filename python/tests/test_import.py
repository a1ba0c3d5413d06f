"""What `import warploom` loads."""

import pytest
import warploom


def test_hooks_and_plot_are_loaded_when_they_are_asked_for(python):
    names = python(
        "import sys, warploom\n"
        "assert not {'warploom.hooks', 'warploom.plot', 'matplotlib'} & set(sys.modules)\n"
        "print(warploom.plot.arcs.__name__, warploom.hooks.__name__)"
    )
    assert names.split() == ["arcs", "warploom.hooks"]


def test_every_name_is_there_and_no_other():
    assert all(hasattr(warploom, name) for name in warploom.__all__)
    assert set(warploom.__all__) <= set(dir(warploom))
    with pytest.raises(AttributeError, match="no attribute 'denoize'"):
        warploom.denoize
