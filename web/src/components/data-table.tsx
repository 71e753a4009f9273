import type { ReactNode } from 'react'
import { classes } from './classes.ts'

interface Column {
  label: string
  isNumber?: boolean
  /** Left out where there is little room. */
  isExtra?: boolean
}

interface Row {
  key: string
  cells: readonly ReactNode[]
}

/** Figures in rows; the first cell of each names it. */
export function DataTable(props: { caption: string; columns: readonly Column[]; rows: readonly Row[] }) {
  const { caption, columns, rows } = props
  const look = ({ isNumber, isExtra }: Column) =>
    classes(
      'px-2 py-1.5 font-normal not-first:wrap-break-word first:ps-0 last:pe-0',
      isNumber ? 'text-end tabular-nums' : 'text-start',
      isExtra && 'max-sm:hidden',
    )
  return (
    <table className="w-full border-collapse text-sm">
      <caption className="sr-only">{caption}</caption>
      <thead>
        <tr className="text-xs text-soft">
          {columns.map((column) => (
            <th key={column.label} scope="col" className={look(column)}>
              {column.label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, cells }) => (
          <tr key={key} className="border-t border-line">
            {columns.map((column, at) => {
              const Cell = at === 0 ? 'th' : 'td'
              return (
                <Cell key={column.label} {...(at === 0 && { scope: 'row' })} className={look(column)}>
                  {cells[at]}
                </Cell>
              )
            })}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
