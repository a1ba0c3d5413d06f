"""Warploom for Conan: `conan create packaging/conan -o "warploom/*:modules=table;dp" --build=missing`."""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt

ROOT = os.path.join("..", "..")


class Warploom(ConanFile):
    name = "warploom"
    description = "Fits hard, irregular work to many-core processors"
    license = "Apache-2.0"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "modules": ["ANY"]}
    default_options = {"shared": False, "fPIC": True, "modules": "table"}
    implements = ["auto_shared_fpic"]

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, ROOT, "CMakeLists.txt"))
        self.version = re.search(r"VERSION (\d+\.\d+\.\d+)", text).group(1)

    def export_sources(self):
        for part in ["CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*", "third_party/*"]:
            copy(self, part, os.path.join(self.recipe_folder, ROOT), self.export_sources_folder)

    def validate(self):
        check_min_cppstd(self, 20)

    def system_requirements(self):
        # Not Conan's: it has no header of NIfTI. These modules need none.
        if not set(str(self.options.modules).split(";")) <= {"core", "hw", "page", "ptx", "reuse_check", "sim", "table"}:
            packages = "nlohmann-json3-dev libdeflate-dev libisal-dev libisl-dev libgmp-dev libnifti-dev libpng-dev"
            Apt(self).install(packages.split())

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["WARPLOOM_MODULES"] = str(self.options.modules)
        for part in ["TOOLS", "TESTS", "BENCH", "CUDA"]:
            toolchain.cache_variables[f"WARPLOOM_{part}"] = "OFF"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # Our own package of CMake's has the modules as components.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "warploom")]
        self.cpp_info.libs = []
