import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeMissing } from './run-hints.ts'

describe('hints about what a run did not find', () => {
  it.each([
    [
      "ModuleNotFoundError: No module named 'pdf2image'",
      'The Python module pdf2image is not installed. Call again with packages: ["pdf2image"]',
    ],
    ["ModuleNotFoundError: No module named 'PIL.Image'", 'packages: ["Pillow"]'],
    ['/usr/bin/python3: No module named markitdown', 'packages: ["markitdown"]'],
    ["Error: Cannot find module 'pptxgenjs'\nRequire stack:", 'packages: ["npm:pptxgenjs"]'],
    ["Cannot find package '@scope/name/sub' imported from /workspace/a.mjs", 'packages: ["npm:@scope/name"]'],
    ["FileNotFoundError: [Errno 2] No such file or directory: 'soffice'", 'sudo apt install libreoffice'],
    ['bash: line 1: pdftoppm: command not found', 'sudo apt install poppler-utils'],
    ['sh: 1: frobnicate: not found', 'frobnicate is not installed on this machine'],
    ['bash: line 1: pip: command not found', 'Nothing can be installed from inside'],
    ['npm error request failed, reason: getaddrinfo EAI_AGAIN registry', 'Nothing can be installed from inside'],
    ['error: externally-managed-environment', 'Nothing can be installed from inside'],
    ['Error: spawn ffmpeg ENOENT', 'sudo apt install ffmpeg'],
  ])('HANDS-5 %s', (said, hint) => {
    expect(describeMissing(said)).toEqual([expect.stringContaining(hint)])
  })

  it.each([
    "FileNotFoundError: [Errno 2] No such file or directory: 'costs.xlsx'",
    "Error: Cannot find module './own.js'",
    "Error: Cannot find module '/workspace/own.js'",
    'The book was not found.',
    '',
  ])('HANDS-5 says nothing about %j', (said) => {
    expect(describeMissing(said)).toEqual([])
  })

  it('HANDS-5 any output gives at most three short lines, each once', () => {
    const part = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        "No module named '",
        "Cannot find module '",
        ': command not found',
        'spawn ',
        " ENOENT'",
        'x',
        '/',
        "'\n",
      ),
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
        const hints = describeMissing(parts.join(''))
        expect(hints.length).toBeLessThanOrEqual(3)
        expect(new Set(hints).size).toBe(hints.length)
        for (const hint of hints) expect(hint).toMatch(/^[^\n\r]{1,400}$/)
      }),
    )
  })
})
