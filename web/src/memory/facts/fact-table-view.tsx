import type { FactReply } from '../../../../src/protocol/fact-api.ts'
import { Link } from '../../shell/link.tsx'
import { formatDay } from '../times.ts'
import type { Column, Sorting } from './fact-table.ts'

const columns: [Column, string][] = [
  ['entity', 'Of'],
  ['attribute', 'What'],
  ['value', 'Value'],
  ['confidence', 'Sure'],
  ['valid_from', 'Since'],
]

export function FactTable(props: { facts: readonly FactReply[]; sorting: Sorting; onSort(sorting: Sorting): void }) {
  const { facts, sorting, onSort } = props
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <section tabIndex={0} aria-label="Facts" className="overflow-x-auto rounded-xl border border-line">
      <table className="w-full min-w-[34rem] text-sm">
        <thead className="bg-sunken text-start">
          <tr>
            {columns.map(([name, label]) => {
              const isSorted = sorting.by === name
              return (
                <th
                  key={name}
                  scope="col"
                  aria-sort={isSorted ? (sorting.isDown ? 'descending' : 'ascending') : 'none'}
                  className="text-start font-medium"
                >
                  <button
                    type="button"
                    className="min-h-9 w-full px-3 text-start whitespace-nowrap hover:text-accent"
                    onClick={() => onSort({ by: name, isDown: isSorted && !sorting.isDown })}
                  >
                    {label} <span aria-hidden="true">{isSorted && (sorting.isDown ? '↓' : '↑')}</span>
                  </button>
                </th>
              )
            })}
          </tr>
        </thead>
        <tbody>
          {facts.map(({ id, entity, attribute, value, confidence, valid_from, valid_to }) => (
            <tr key={id} className={valid_to ? 'border-t border-line text-soft' : 'border-t border-line'}>
              <td className="px-3 py-2">{entity === 'user' ? 'You' : entity}</td>
              <td className="px-3 py-2">{attribute}</td>
              <td className="px-3 py-2">
                <Link
                  href={`/memory/${encodeURIComponent(id)}`}
                  className="font-medium underline-offset-4 hover:text-accent hover:underline"
                >
                  {value}
                </Link>
              </td>
              <td className="px-3 py-2 tabular-nums">{Math.round(confidence * 100)}%</td>
              <td className="px-3 py-2 whitespace-nowrap">
                {formatDay(valid_from)}
                {valid_to && ` – ${formatDay(valid_to)}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
