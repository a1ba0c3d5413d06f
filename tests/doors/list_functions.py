#!/usr/bin/env python3
"""Prints the public functions of the installed headers, one a line, sorted; headers of kernels (.cuh) need nvcc.

    list_functions.py CLANG INCLUDE [--expect FILE | --designators COMPILER]

CLANG reads one file that includes every header in INCLUDE; what its syntax tree has in namespace warploom, accessible and
written by hand, is printed: functions, methods, constructors, templates once. With --expect the list is compared with FILE:
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

# Not called by users: lines of the lock-free chain that kernels, the CPU and the model checker share, and what a
# namespace's name says is private.
INTERNAL_NAMESPACES = {"internal", "chain_steps"}
# State of those lines: nobody makes it with braces.
INTERNAL_RECORDS = {"warploom::table::Scan", "warploom::table::Attempt", "warploom::table::FoundAtHome",
                    "warploom::table::BatchCounts"}
RECORDS = {"CXXRecordDecl", "ClassTemplateSpecializationDecl"}
FUNCTIONS = {"FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXConversionDecl"}


def headers_of(include):
    return sorted(header.relative_to(include) for header in include.rglob("*.h*"))


def syntax_tree(clang, include):
    """The declarations of namespace warploom; the standard library's would be a hundred times as many."""
    text = "".join(f"#include <{header}>\n" for header in headers_of(include))
    command = [clang, "-std=c++20", "-x", "c++", "-fsyntax-only", f"-I{include}", "-Xclang", "-ast-dump=json",
               "-Xclang", "-ast-dump-filter=warploom", "-"]
    dump = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
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
            and not node.get("explicitlyDefaulted"):
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
    text = "".join(f"#include <{header}>\n" for header in headers_of(include))
    for number, (name, member) in enumerate(sorted(found)):
        text += f"void f{number}() {{ [[maybe_unused]] {name} made{{.{member} = {{}}}}; }}\n"
    command = [compiler, "-std=c++20", "-x", "c++", "-fsyntax-only", f"-I{include}", "-Wall", "-Wextra", "-Werror", "-"]
    sys.exit(subprocess.run(command, input=text, text=True, check=False).returncode)


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
