#!/usr/bin/env python3
"""Prints the public functions of the installed headers, one a line, sorted.

    list_functions.py CLANG INCLUDE [--expect FILE | --designators COMPILER]

CLANG reads one file that includes every header in INCLUDE; what its syntax tree has in namespace warploom, accessible and
written by hand, is printed: functions, methods, constructors, templates once. Of headers for CUDA (.cuh) that is what the
host may call; no toolkit is needed, since they are read with declarations of our own for what they use of it. With --expect the list is compared with FILE:
the exit status is 1 where they differ, and the lines that are new or gone are named. With --designators COMPILER that
compiler is given, with -Wextra -Werror, Options{.first = {}} and Options{.last = {}} of every public aggregate: what the
braces leave out has to have a value of its own, or those who write them are warned.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

# Not called by users: lines of the lock-free chain that kernels, the CPU and the model checker share, and what a
# namespace's name says is private.
INTERNAL_NAMESPACES = {"internal", "chain_steps"}
# State of those lines, and of kernels: nobody makes it with braces.
INTERNAL_RECORDS = {"warploom::TwoWords", "warploom::table::LinePool",
                    "warploom::table::Scan", "warploom::table::Attempt", "warploom::table::FoundAtHome",
                    "warploom::table::BatchCounts"}
RECORDS = {"CXXRecordDecl", "ClassTemplateSpecializationDecl"}
FUNCTIONS = {"FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXConversionDecl"}
# What headers for CUDA use of the toolkit and of a build that has it.
CUDA = {
    "cuda_runtime_api.h": """#pragma once
struct CUstream_st;
using cudaStream_t = CUstream_st*;
enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation, cudaErrorNoDevice, cudaErrorInsufficientDriver };
cudaError_t cudaGetLastError();
cudaError_t cudaFree(void*);
const char* cudaGetErrorString(cudaError_t);
#define __device__ __attribute__((annotate("device")))
#define asm
#define volatile(...)  // of PTX
struct Place {
  unsigned x;
};
extern const Place threadIdx, blockIdx, blockDim;
unsigned long __cvta_generic_to_global(const void*);
template <class T>
T atomicAdd(T*, unsigned long);
template <class T>
T atomicSub(T*, T);
template <class T>
T atomicExch(T*, unsigned long);
int __popcll(unsigned long);
""",
    "cuda_runtime.h": "#include <cuda_runtime_api.h>\n",
    "warploom/config.hpp": "#define WARPLOOM_HAS_CUDA 1\n",
}


def includes_of(include, kernels):
    """Every header; those with code of kernels, which other compilers than nvcc cannot compile, only if wanted."""
    headers = sorted(header for header in include.rglob("*.*h*")
                     if kernels or "__device__" not in header.read_text())
    return "".join(f"#include <{name}>\n" for name in ["cuda_runtime.h", *(h.relative_to(include) for h in headers)])


def compile_headers(command, text, include, **options):
    """Gives a compiler all that `text` includes."""
    with tempfile.TemporaryDirectory() as folder:
        for name, declarations in CUDA.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(declarations)
        command = [*command, "-std=c++20", "-x", "c++", "-fsyntax-only", f"-I{include}", f"-I{folder}", "-"]
        return subprocess.run(command, input=text, text=True, check=False, **options)


def syntax_tree(clang, include):
    """The declarations of namespace warploom; the standard library's would be a hundred times as many."""
    dump = compile_headers([clang, "-Xclang", "-ast-dump=json", "-Xclang", "-ast-dump-filter=warploom"],
                           includes_of(include, True), include, capture_output=True)
    if dump.returncode != 0:
        sys.exit(f"{clang} does not take the headers:\n{dump.stderr}")
    decoder, at, trees = json.JSONDecoder(), 0, []
    while (at := dump.stdout.find("{", at)) >= 0:
        tree, at = decoder.raw_decode(dump.stdout, at)
        trees.append(tree)
    return trees


def plain(written):
    """A type without namespaces but std: compilers differ in what they write before a name."""
    return re.sub(r"(?<![\w:])(?!std\b)(?:\w+::)+", "", written)


def signature(node, scope):
    parameters = [plain(p["type"]["qualType"]) for p in node.get("inner", []) if p["kind"] == "ParmVarDecl"]
    constant = re.search(r"\) const\b", node["type"]["qualType"])
    return "::".join(scope + [node["name"]]) + "(" + ", ".join(parameters) + ")" + (" const" if constant else "")


def for_kernels(node):
    return any(child["kind"] == "AnnotateAttr" for child in node.get("inner", []))


def visit(node, scope, found, access="public"):
    kind = node.get("kind")
    if kind == "NamespaceDecl":
        if node.get("name") in INTERNAL_NAMESPACES:
            return
        inner = scope if node.get("name") == "warploom" else scope + [node.get("name", "")]
        for child in node.get("inner", []):
            visit(child, inner, found)
    elif kind in ("ClassTemplateDecl", "FunctionTemplateDecl"):
        # The pattern comes first; what follows are its instances.
        for child in node.get("inner", []):
            if child["kind"] in RECORDS | FUNCTIONS:
                visit(child, scope, found)
                break
    elif kind == "LinkageSpecDecl":
        for child in node.get("inner", []):
            visit(child, scope, found)
    elif kind == "FriendDecl":
        for child in node.get("inner", []):
            visit(child, scope[:-1], found)
    elif kind == "CXXRecordDecl" and "name" in node:
        access = "private" if node.get("tagUsed") == "class" else "public"
        for child in node.get("inner", []):
            if child.get("kind") == "AccessSpecDecl":
                access = child["access"]
            elif access == "public" and not child.get("isImplicit"):
                visit(child, scope + [node["name"]], found)
    elif kind in FUNCTIONS and not node.get("isImplicit") and not node.get("explicitlyDeleted") \
            and not node.get("explicitlyDefaulted") and not for_kernels(node):
        found.add(signature(node, scope))


def aggregates(node, scope, found, access="public"):
    """(name, member) of the aggregates that braces with designators can make: the first member, and the last."""
    kind = node.get("kind")
    if kind == "NamespaceDecl" and node.get("name") not in INTERNAL_NAMESPACES:
        for child in node.get("inner", []):
            aggregates(child, scope + [node.get("name", "")], found)
    elif kind == "CXXRecordDecl" and "name" in node and node.get("completeDefinition") and access == "public":
        fields = [child for child in node.get("inner", []) if child.get("kind") == "FieldDecl"]
        written = fields and node["definitionData"].get("isAggregate") and "bases" not in node
        if "::".join(scope + [node["name"]]) in INTERNAL_RECORDS:
            return
        if written and not any(field["type"]["qualType"].endswith("&") for field in fields):
            found.update(("::".join(scope + [node["name"]]), field["name"]) for field in (fields[0], fields[-1]))
        access = "private" if node.get("tagUsed") == "class" else "public"
        for child in node.get("inner", []):
            if child.get("kind") == "AccessSpecDecl":
                access = child["access"]
            aggregates(child, scope + [node["name"]], found, access)


def compile_designators(trees, compiler, include):
    found = set()
    for tree in trees:
        aggregates(tree, [], found)
    text = includes_of(include, False)
    for number, (name, member) in enumerate(sorted(found)):
        text += f"void f{number}() {{ [[maybe_unused]] {name} made{{.{member} = {{}}}}; }}\n"
    sys.exit(compile_headers([compiler, "-Wall", "-Wextra", "-Werror"], text, include).returncode)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clang")
    parser.add_argument("include", type=pathlib.Path)
    parser.add_argument("--expect", type=pathlib.Path)
    parser.add_argument("--designators", metavar="COMPILER")
    asked = parser.parse_args()
    trees = syntax_tree(asked.clang, asked.include)
    if asked.designators:
        compile_designators(trees, asked.designators, asked.include)
    found = set()
    for tree in trees:
        visit(tree, [], found)
    if asked.expect is None:
        print("\n".join(sorted(found)))
        return
    expected = set(asked.expect.read_text().splitlines())
    for line in sorted(found - expected):
        print("new: ", line)
    for line in sorted(expected - found):
        print("gone:", line)
    if found != expected:
        sys.exit(f"{asked.expect} is not the list of today: write it anew with {sys.argv[0]}, and give each new line a case")


if __name__ == "__main__":
    main()
