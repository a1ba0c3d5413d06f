"""What greedy, ANTs' SyN and SimpleITK's demons are asked to do: Python to be formatted and run. Each leaves an affine map and a field in {out}."""

GREEDY = """
from picsl_greedy import Greedy{d}D
g = Greedy{d}D()
g.execute('-a -m NCC {radius} -i {fixed} {moving} -o {out}/a.mat -n 100x50x10 -ia-image-centers -threads {threads}')
g.execute('-m NCC {radius} -i {fixed} {moving} -it {out}/a.mat -o {out}/warp.nii.gz -n {levels} -threads {threads}')
"""
ANTS = """
import ants, shutil
r = ants.registration(ants.image_read('{fixed}'), ants.image_read('{moving}'), type_of_transform='SyN', syn_metric='CC', syn_sampling=2,
                      reg_iterations={iterations}, outprefix='{out}/ants_')
for path in r['fwdtransforms']:
    shutil.copy(path, '{out}/a.mat' if path.endswith('.mat') else '{out}/warp.nii.gz')
"""
DEMONS = """
import SimpleITK as sitk
sitk.ProcessObject.SetGlobalDefaultNumberOfThreads({threads})
read = lambda path: sitk.Cast(sitk.ReadImage(path), sitk.sitkFloat32)
fixed, moving = read('{fixed}'), read('{moving}')
start = sitk.CenteredTransformInitializer(fixed, moving, sitk.AffineTransform({d}), sitk.CenteredTransformInitializerFilter.GEOMETRY)
r = sitk.ImageRegistrationMethod()
r.SetMetricAsMattesMutualInformation(32)
r.SetMetricSamplingStrategy(r.REGULAR)
r.SetMetricSamplingPercentage(0.2)
r.SetInterpolator(sitk.sitkLinear)
r.SetOptimizerAsRegularStepGradientDescent(1.0, 1e-4, 200)
r.SetOptimizerScalesFromPhysicalShift()
r.SetShrinkFactorsPerLevel([4, 2, 1])
r.SetSmoothingSigmasPerLevel([2, 1, 0])
r.SetInitialTransform(start, True)
r.Execute(fixed, moving)
moved = sitk.HistogramMatching(sitk.Resample(moving, fixed, start, sitk.sitkLinear), fixed, 128, 10, True)
def shrunk(image, by):
    return sitk.Shrink(sitk.SmoothingRecursiveGaussian(image, by / 2), [by if n > 60 else 1 for n in image.GetSize()]) if by > 1 else image
field = None
for by, iterations in ((4, 100), (2, 100), (1, 30)):
    f, m = shrunk(fixed, by), shrunk(moved, by)
    d = sitk.DiffeomorphicDemonsRegistrationFilter()
    d.SetNumberOfIterations(iterations)
    d.SetStandardDeviations(1.5)
    if field is None:
        field = sitk.Image(f.GetSize(), sitk.sitkVectorFloat64)
        field.CopyInformation(f)
    else:
        field = sitk.Resample(field, f)
    field = d.Execute(f, m, field)
sitk.WriteImage(sitk.Cast(field, sitk.sitkVectorFloat32), '{out}/warp.nii.gz')
sitk.WriteTransform(start, '{out}/a.tfm')
"""
