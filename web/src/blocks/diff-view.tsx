import { useMemo } from 'react'
import { classes } from '../components/classes.ts'
import { type DiffRow, diffLines, withContext } from './line-diff.ts'

const marks = { same: ' ', added: '+', removed: '−' }
const names = { same: '', added: 'added: ', removed: 'removed: ' }

/** What differs between two texts, readable without colours and by ear. */
export function DiffView({ before, after, label }: { before: string; after: string; label: string }) {
  const lines = useMemo(() => diffLines(before, after), [before, after])
  const rows = useMemo(() => withContext(lines), [lines])
  const added = lines.filter(({ kind }) => kind === 'added').length
  const removed = lines.filter(({ kind }) => kind === 'removed').length
  if (added + removed === 0) return <p className="text-sm text-soft">Both are the same.</p>
  return (
    <div>
      <p className="mb-1 text-sm text-soft">
        {removed} {removed === 1 ? 'line' : 'lines'} removed, {added} added
      </p>
      <section
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
        tabIndex={0}
        className="max-h-[60vh] overflow-auto rounded-xl border border-line bg-raised py-2 font-mono text-[0.8125rem] leading-relaxed"
      >
        {rows.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name.
          <Row key={index} row={row} />
        ))}
      </section>
    </div>
  )
}

function Row({ row }: { row: DiffRow }) {
  if (row.kind === 'left_out') {
    return (
      <p className="px-3 py-1 text-soft">
        … {row.count} {row.count === 1 ? 'line' : 'lines'} as before
      </p>
    )
  }
  return (
    <p
      className={classes(
        'flex gap-2 px-3 whitespace-pre-wrap',
        row.kind === 'added' && 'bg-good-soft text-good',
        row.kind === 'removed' && 'bg-bad-soft text-bad',
      )}
    >
      <span aria-hidden="true" className="w-3 shrink-0 select-none">
        {marks[row.kind]}
      </span>
      <span className="min-w-0">
        <span className="sr-only">{names[row.kind]}</span>
        {row.text}
      </span>
    </p>
  )
}
