import { useMemo } from 'react'
import type { SpendingReply } from '../../../src/protocol/cost-api.ts'
import { DataTable } from '../components/data-table.tsx'
import { Fold } from '../components/fold.tsx'
import { Plot } from '../components/plot.tsx'
import { columnsOf, dayName, type Measure } from './day-columns.ts'
import { costText, count, shortCount, usd } from './money.ts'

type Days = SpendingReply['days']

const labels: Record<Measure, string> = {
  cost: 'Dollars by day and model',
  tokens: 'Tokens by day and model',
  calls: 'Calls by day and model',
}

export function SpentByDay({ days, measure }: { days: Days; measure: Measure }) {
  const { columns, series } = useMemo(() => columnsOf(days, measure), [days, measure])
  const label = `${labels[measure]}. The table below has the same figures.`
  return (
    <>
      {series.length === 0 ? (
        <p className="py-8 text-center text-sm text-soft">
          No call of this time had a price. Tokens and calls are known.
        </p>
      ) : (
        <Plot label={label} columns={columns} series={series} format={measure === 'cost' ? usd : shortCount} />
      )}
      <div className="mt-3">
        <Fold icon="calendar" title="As a table">
          <DayTable days={days} />
        </Fold>
      </div>
    </>
  )
}

function DayTable({ days }: { days: Days }) {
  const busy = days.filter(({ total }) => total.calls > 0).toReversed()
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <div className="max-h-96 overflow-auto" tabIndex={0}>
      <DataTable
        caption="Spent by day, newest first"
        columns={[
          { label: 'Day' },
          { label: 'Cost', isNumber: true },
          { label: 'Calls', isNumber: true },
          { label: 'Sent', isNumber: true, isExtra: true },
          { label: 'Received', isNumber: true, isExtra: true },
        ]}
        rows={busy.map(({ day, total }) => ({
          key: day,
          cells: [
            dayName(day),
            costText(total),
            count(total.calls),
            count(total.input_tokens),
            count(total.output_tokens),
          ],
        }))}
      />
    </div>
  )
}
