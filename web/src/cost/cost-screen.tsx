import type { CapsReply, SpendingReply } from '../../../src/protocol/cost-api.ts'
import { useAnswer } from '../api/use-answer.ts'
import { SelectField } from '../components/field.tsx'
import { Empty, Failure, Notice } from '../components/notice.tsx'
import { Panel, Screen, Section } from '../components/screen.tsx'
import { go, usePlace } from '../shell/router.ts'
import { CapBars } from './cap-bars.tsx'
import type { Measure } from './day-columns.ts'
import { costText, count } from './money.ts'
import { SpentBars } from './spent-bars.tsx'
import { SpentByDay } from './spent-by-day.tsx'
import { SpentBySession } from './spent-by-session.tsx'
import { SpentFigures } from './spent-figures.tsx'
import { purposeName } from './words.ts'

const periods = [
  { value: 'today', label: 'Today' },
  { value: 'week', label: 'Last 7 days' },
  { value: 'month', label: 'Last 30 days' },
  { value: 'quarter', label: 'Last 3 months' },
  { value: 'year', label: 'Last year' },
  { value: 'all', label: 'Since the beginning' },
]
const measures: { value: Measure; label: string }[] = [
  { value: 'cost', label: 'Dollars' },
  { value: 'tokens', label: 'Tokens' },
  { value: 'calls', label: 'Calls' },
]

/** What the models cost, for what, and how much they may. */
export function CostScreen() {
  const { query } = usePlace()
  const period = periods.find(({ value }) => value === query.get('period'))?.value ?? 'month'
  const spending = useAnswer<SpendingReply>('/cost/spending', { query: { period }, everyMs: 60_000 })
  const caps = useAnswer<CapsReply>('/cost/caps', { everyMs: 10_000 })
  const total = spending.data?.total
  const isUnpriced = total !== undefined && total.calls > 0 && total.calls === total.unpriced_calls
  const measure = measures.find(({ value }) => value === query.get('by'))?.value ?? (isUnpriced ? 'tokens' : 'cost')

  function choose(change: Record<string, string>): void {
    const chosen = new URLSearchParams({ ...Object.fromEntries(query), ...change })
    go(`/cost?${chosen}`, { replace: true })
  }

  return (
    <Screen
      title="Cost"
      intro="Every call to a model is written down, with what it took and what it cost."
      actions={
        <>
          <SelectField
            label="Period"
            isLabelHidden
            choices={periods}
            value={period}
            onChange={(value) => choose({ period: value })}
          />
          <SelectField
            label="Measured in"
            isLabelHidden
            choices={measures}
            value={measure}
            onChange={(value) => choose({ by: value })}
          />
        </>
      }
    >
      {spending.error && <Failure error={spending.error} onRetry={spending.refresh} />}
      {total && <SpentFigures total={total} />}
      {total && total.unpriced_calls > 0 && (
        <div className="mb-6">
          <Notice>
            {count(total.unpriced_calls)} of {count(total.calls)} calls went to models without a price. What they cost
            is not known, and in none of these sums. Prices are set with each model.
          </Notice>
        </div>
      )}
      <Section title="Limits">
        {caps.error && <Failure error={caps.error} onRetry={caps.refresh} />}
        {caps.data && <CapBars caps={caps.data} />}
      </Section>
      {!spending.data && spending.isLoading && <p className="breathing text-soft">Adding up …</p>}
      {total?.calls === 0 && (
        <Empty title="Nothing was spent in this time">
          As soon as a model is asked something, it is counted here: by day, by model, by what it was for and by
          conversation.
        </Empty>
      )}
      {spending.data && total && total.calls > 0 && (
        <>
          <Section title="By day">
            <Panel>
              <SpentByDay days={spending.data.days} measure={measure} />
            </Panel>
          </Section>
          <div className="grid gap-x-6 lg:grid-cols-2">
            <Section title="By model">
              <SpentBars caption="Spent by model" measure={measure} lines={spending.data.by_model} />
            </Section>
            <Section title="By purpose">
              <SpentBars
                caption="Spent by purpose"
                measure={measure}
                lines={spending.data.by_purpose.map((line) => ({ ...line, label: purposeName(line.name) }))}
              />
            </Section>
          </div>
          <Section title="By conversation">
            <SpentBySession spending={spending.data} measure={measure} />
          </Section>
          <p className="sr-only" role="status">
            In all {costText(total)} in {count(total.calls)} calls.
          </p>
        </>
      )}
    </Screen>
  )
}
