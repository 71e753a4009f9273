import type { CapabilityFiles } from '../capability.ts'
import { decodeText } from './capability-files.ts'
import { diffLines, type LineChange } from './diff-lines.ts'
import { lockFile } from './lock.ts'

interface Side {
  /** `v1`, as the head of each file names it. */
  label: string
  files: CapabilityFiles
}

const around = 3
const marks = { same: ' ', removed: '-', added: '+' } as const

export interface FileDifference {
  path: string
  kind: 'added' | 'removed' | 'changed'
  /** Unified, with its head. */
  text: string
}

/** What changed between two versions, file by file in order of path, the lock left out. Empty where nothing did. */
export function diffFiles(from: Side, to: Side): FileDifference[] {
  const paths = [...new Set([...from.files.keys(), ...to.files.keys()])].filter((path) => path !== lockFile).sort()
  return paths.flatMap((path) => {
    const before = from.files.get(path)
    const after = to.files.get(path)
    if (before && after && Buffer.compare(before, after) === 0) return []
    const kind = before && after ? 'changed' : after ? 'added' : 'removed'
    return [{ path, kind, text: unifiedText(path, from, to) }]
  })
}

function unifiedText(path: string, from: Side, to: Side): string {
  const before = from.files.get(path)
  const after = to.files.get(path)
  const old = before ? `${from.label}/${path}` : '/dev/null'
  const young = after ? `${to.label}/${path}` : '/dev/null'
  const oldText = before ? decodeText(before) : ''
  const youngText = after ? decodeText(after) : ''
  if (oldText === undefined || youngText === undefined) return `Binary files ${old} and ${young} differ\n`
  const hunks = hunksOf(diffLines(toLines(oldText), toLines(youngText)))
  return `--- ${old}\n+++ ${young}\n${hunks}`
}

const noEnd = '\n\\ No newline at end of file'

/** The last line says where it does not end, so that it differs from one that does. */
function toLines(text: string): string[] {
  if (text === '') return []
  const lines = text.split('\n')
  const last = lines.pop() ?? ''
  return last === '' ? lines : [...lines, `${last}${noEnd}`]
}

function hunksOf(changes: readonly LineChange[]): string {
  let text = ''
  let oldLine = 1
  let youngLine = 1
  for (let index = 0; index < changes.length; ) {
    const next = changes.findIndex(({ kind }, place) => place >= index && kind !== 'same')
    if (next === -1) break
    const start = Math.max(index, next - around)
    oldLine += start - index
    youngLine += start - index
    const end = endOfHunk(changes, next)
    const hunk = changes.slice(start, end)
    const old = hunk.filter(({ kind }) => kind !== 'added').length
    const young = hunk.filter(({ kind }) => kind !== 'removed').length
    text += `@@ -${rangeOf(oldLine, old)} +${rangeOf(youngLine, young)} @@\n`
    text += hunk.map(({ kind, line }) => `${marks[kind]}${line}\n`).join('')
    oldLine += old
    youngLine += young
    index = end
  }
  return text
}

/** Changes that share the lines around them are one hunk. */
function endOfHunk(changes: readonly LineChange[], first: number): number {
  let last = first
  for (let index = first; index < changes.length && index <= last + 2 * around; index += 1) {
    if (changes[index]?.kind !== 'same') last = index
  }
  return Math.min(changes.length, last + around + 1)
}

function rangeOf(line: number, count: number): string {
  // Of a side that has no line here, the line before.
  return `${count === 0 ? line - 1 : line}${count === 1 ? '' : `,${count}`}`
}
