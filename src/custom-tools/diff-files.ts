import type { StructuredPatchHunk } from 'diff'
import type { VersionDifference } from '../protocol/custom-tools.ts'
import { type CapabilityFiles, decodeUtf8 } from './tool-folder.ts'
import { lockFile } from './versions.ts'

interface Side {
  /** `v1`, as the head of each file names it. */
  label: string
  files: CapabilityFiles
}

type FileDifference = VersionDifference['files'][number]

/** The changes between two versions in order of path, without the lock. Empty if there are none. */
export async function diffFiles(from: Side, to: Side): Promise<FileDifference[]> {
  const paths = [...new Set([...from.files.keys(), ...to.files.keys()])].filter((path) => path !== lockFile).sort()
  const differences: FileDifference[] = []
  for (const path of paths) {
    const before = from.files.get(path)
    const after = to.files.get(path)
    if (before && after && Buffer.compare(before, after) === 0) continue
    const kind = before && after ? 'changed' : after ? 'added' : 'removed'
    const old = before ? `${from.label}/${path}` : '/dev/null'
    const young = after ? `${to.label}/${path}` : '/dev/null'
    const oldText = before ? decodeUtf8(before) : ''
    const youngText = after ? decodeUtf8(after) : ''
    const isBinary = oldText === undefined || youngText === undefined
    const text = isBinary
      ? `Binary files ${old} and ${young} differ\n`
      : `--- ${old}\n+++ ${young}\n${await diffTexts(oldText, youngText)}`
    differences.push({ path, kind, text })
  }
  return differences
}

// Past so many changes the shortest way is not worth its time: everything counts as replaced.
const maxChanges = 1_000

/** The hunks from one text to the other, with three lines around each change. */
async function diffTexts(before: string, after: string): Promise<string> {
  const { structuredPatch } = await import('diff')
  const patch = structuredPatch('', '', before, after, '', '', { context: 3, maxEditLength: maxChanges })
  return patch ? patch.hunks.map(formatHunk).join('') : formatHunk(replaceAll(before, after))
}

function replaceAll(before: string, after: string): StructuredPatchHunk {
  const removed = toLines(before)
  const added = toLines(after)
  const marked = (mark: string, lines: readonly string[]) => lines.map((line) => `${mark}${line}`)
  return {
    oldStart: 1,
    oldLines: removed.length,
    newStart: 1,
    newLines: added.length,
    lines: [...marked('-', removed), ...marked('+', added)],
  }
}

/** A last line that does not end is marked, as the library does. */
function toLines(text: string): string[] {
  const lines = text.split('\n')
  const last = lines.pop() ?? ''
  return last === '' ? lines : [...lines, `${last}\n\\ No newline at end of file`]
}

/** The library's own format names a count of one, which diff and git leave out. */
function formatHunk({ oldStart, oldLines, newStart, newLines, lines }: StructuredPatchHunk): string {
  const head = `@@ -${rangeOf(oldStart, oldLines)} +${rangeOf(newStart, newLines)} @@`
  return [head, ...lines, ''].join('\n')
}

function rangeOf(line: number, count: number): string {
  // Of a side that has no line here, the line before.
  return `${count === 0 ? line - 1 : line}${count === 1 ? '' : `,${count}`}`
}
