"""Arrays of other libraries: plain numbers are taken, all else gets advice by name."""

import types
import warnings

import numpy as np
import pytest

import sixfold as sf

ARM = sf.load("double_pendulum")
V = np.array([0.1, -0.2])


def kind(module, name, bases=(), **members):
    """Return a class that looks like one of another library."""
    return types.new_class(
        name, bases, exec_body=lambda body: body.update(members, __module__=module)
    )


class Holder:
    def __init__(self, x=(0.1, 0.2)):
        self.x = np.array(x)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.x, dtype)


def _refuses(*_, **__):
    raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


def _no_array(*_, **__):
    raise TypeError("The numpy.ndarray conversion method __array__() was called on a tracer")


TRACER = kind("jax._src.core", "Tracer", __array__=_no_array)
JIT = kind("jax._src.interpreters.partial_eval", "DynamicJaxprTracer", (TRACER,))
TENSOR = kind("torch", "Tensor", (Holder,), requires_grad=False)
GRADIENT = kind("torch", "Tensor", requires_grad=True, __array__=_refuses)
PARAMETER = kind("torch.nn.parameter", "Parameter", (GRADIENT,))
ON_GPU = kind(
    "torch", "Tensor", (Holder,), requires_grad=False, device=types.SimpleNamespace(type="cuda")
)
DASK = kind("dask.array.core", "Array", (Holder,))
CUPY = kind("cupy", "ndarray", __cuda_array_interface__={"shape": (2,)}, __array__=_no_array)
JAX = kind("jaxlib._jax", "ArrayImpl", (Holder,))
VARIABLE = kind("xarray.core.variable", "Variable", _data=DASK())
LAZY = kind("xarray.core.dataarray", "DataArray", (Holder,), variable=VARIABLE())
EAGER = kind(
    "xarray.core.dataarray",
    "DataArray",
    (Holder,),
    variable=kind("xarray.core.variable", "Variable", _data=np.zeros(2))(),
)
SPARSE = kind("scipy.sparse._csr", "csr_array", toarray=lambda self: np.zeros(2))

REFUSED = {
    "a JAX tracer": (JIT, ("a JAX tracer", "sixfold.interop.jax_function")),
    "a torch tensor with gradients": (
        GRADIENT,
        ("requires gradients", "sixfold.interop.torch_function"),
    ),
    "a torch parameter": (PARAMETER, ("requires gradients", "sixfold.interop.torch_function")),
    "a torch tensor on a card": (
        ON_GPU,
        ("device 'cuda'", "sixfold.interop.array_api_function", ".cpu()"),
    ),
    "a Dask array": (DASK, ("a Dask array", "not computed yet", ".compute()", "as they are")),
    "xarray over Dask": (LAZY, ("a Dask array", ".compute()")),
    "a CuPy array": (CUPY, ("cupy.ndarray", "array_api_function", "cupy.asnumpy")),
    "a sparse matrix": (SPARSE, ("a sparse matrix", ".toarray()")),
}


@pytest.mark.parametrize(("made", "words"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("function", [sf.mass_matrix, sf.gravity_force, sf.potential_energy])
def test_an_array_whose_numbers_are_elsewhere_is_named_with_the_way_out(function, made, words):
    with pytest.raises(sf.errors.NumberError, match=f"{function.__name__}: argument 'q'") as caught:
        function(ARM, made())
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("made", [GRADIENT, JIT], ids=["torch", "jax"])
def test_such_objects_in_a_list_are_named_as_well(made):
    with pytest.raises(sf.errors.NumberError, match=r"requires gradients|JAX tracer"):
        sf.mass_matrix(ARM, [made(), made()])


@pytest.mark.parametrize("made", [TENSOR, JAX, EAGER, Holder], ids=lambda x: x.__module__)
def test_plain_numbers_of_other_libraries_are_taken(made):
    expected = sf.inverse_dynamics(ARM, made().x, V, V)
    np.testing.assert_array_equal(sf.inverse_dynamics(ARM, made(), V, V), expected)


def test_a_library_that_cannot_convert_is_heard():
    odd = kind("tensorflow.python", "SymbolicTensor", __array__=_refuses)
    with pytest.raises(
        sf.errors.NumberError, match=r"tensorflow.SymbolicTensor, which says: Can't call"
    ):
        sf.mass_matrix(ARM, odd())


def test_masked_elements_are_never_used():
    hidden = np.ma.array([0.1, 0.2], mask=[False, True])
    whole = np.ma.array([0.1, 0.2], mask=False)
    M = sf.mass_matrix(ARM, [0.1, 0.2])
    np.testing.assert_array_equal(sf.mass_matrix(ARM, whole), M)
    for masked in (hidden, [0.1, np.ma.masked], [[0.1, 0.2], [np.ma.masked, 0.2]]):
        with pytest.raises(sf.errors.NumberError, match="masked elements"):
            sf.mass_matrix(ARM, masked)


def test_matrices_tables_and_dlpack_objects_are_taken_by_their_values():
    pandas = pytest.importorskip("pandas", reason="a table of states")
    M = sf.mass_matrix(ARM, [[0.1, 0.2]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix = np.asmatrix([[0.1, 0.2]])
    np.testing.assert_array_equal(sf.mass_matrix(ARM, matrix), M)
    table = pandas.DataFrame({"shoulder": [0.1], "elbow": [0.2]})
    np.testing.assert_array_equal(sf.mass_matrix(ARM, table), M)
    np.testing.assert_array_equal(sf.mass_matrix(ARM, pandas.Series([0.1, 0.2])), M[0])


def test_sizes_beyond_memory_are_an_error_of_the_library():
    wide = np.broadcast_to(np.zeros(2), (10**12, 2))
    with pytest.raises(sf.errors.TooLargeError, match="mass_matrix: no memory") as caught:
        sf.mass_matrix(ARM, wide)
    assert isinstance(caught.value, MemoryError) and "fewer states" in str(caught.value)
    with pytest.raises(sf.errors.TooLargeError, match="argument 'q'"):
        sf.mass_matrix(ARM, np.broadcast_to(np.zeros(2, np.int8), (10**12, 2)))
