"""Rewrite CUDA C++ for a C++ compiler: launches of kernels, and shared memory of a launch's size.

kernel<T><<<grid, block, bytes, stream>>>(a, b);  becomes a call of emulated_launch with a lambda.

launches.py FROM TO [NAME...]: FROM/NAME becomes TO/NAME; every .cu and .cuh below FROM if no NAME is
given. A file that would not change is not touched, so that make compiles nothing anew.
"""
import os
import re
import sys


def closing(text, at, opens, closes):
    """The place behind the bracket that closes the one at `at`."""
    depth = 0
    while True:
        if text[at] == opens:
            depth += 1
        elif text[at] == closes:
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1


def kernel_begin(text, end):
    """The place where the kernel's name, with its template arguments, begins."""
    at = end
    while text[at - 1].isspace():
        at -= 1
    if text[at - 1] == '>':
        depth = 0
        while True:
            at -= 1
            if text[at] == '>':
                depth += 1
            elif text[at] == '<':
                depth -= 1
                if depth == 0:
                    break
    while text[at - 1].isalnum() or text[at - 1] in '_:':
        at -= 1
    return at


def rewrite(text):
    out = ''
    while '<<<' in text:
        mark = text.index('<<<')
        begin = kernel_begin(text, mark)
        end = text.index('>>>', mark)
        call = text.index('(', end)
        behind = closing(text, call, '(', ')')
        name = text[begin:mark].strip()
        out += text[:begin]
        out += 'emulated_launch(%s, [=]() { %s%s; })' % (text[mark + 3:end], name, text[call:behind])
        text = text[behind:]
    text = out + text
    return re.sub(r'extern __shared__ (?:__align__\(\d+\) )?([a-z0-9 ]+?) (\w+)\[\];',
                  r'\1 *const \2 = reinterpret_cast<\1 *>(emulated_shared());', text)


def names(folder):
    for path, _, files in os.walk(folder):
        for name in files:
            if name.endswith(('.cu', '.cuh')):
                yield os.path.relpath(os.path.join(path, name), folder)


def main(folder, target, *wanted):
    for name in wanted or names(folder):
        source = os.path.join(folder, name)
        twin = os.path.join(target, name)
        with open(source) as f:
            text = '#line 1 "%s"\n%s' % (source, rewrite(f.read()))
        if os.path.exists(twin) and open(twin).read() == text:
            continue
        os.makedirs(os.path.dirname(twin), exist_ok=True)
        with open(twin, 'w') as f:
            f.write(text)


main(*sys.argv[1:])
