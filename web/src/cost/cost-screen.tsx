import { type ReactNode, useMemo, useState } from 'react'
import type { BudgetsReply, SpendingReply, SpentReply } from '../../../src/protocol/status.ts'
import { type Input, useAnswer } from '../api/call.ts'
import { useSessions } from '../chat/sessions.ts'
import { Button, classes } from '../components/controls.tsx'
import { Empty, Failure, Notice } from '../components/feedback.tsx'
import { SelectField } from '../components/forms.tsx'
import { DataTable, Fold, Panel, QuietLink, Rich, Screen, Section } from '../components/layout.tsx'
import { Plot } from '../components/plot.tsx'
import { BudgetForm } from '../settings/edit-settings.tsx'
import { useWho } from '../shell/account.tsx'
import { go, usePlace } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { cachedShare, columnsOf, costText, count, dayName, type Measure, percent, shortCount, usd } from './money.ts'

type Budget = BudgetsReply['caps'][number]

const words: Record<Budget['name'], { title: string; used(spent: string): string }> = {
  message: { title: t.cost.perMessage, used: (spent) => t.cost.mostExpensiveToday(spent) },
  build: { title: t.cost.perBuild, used: (spent) => t.cost.mostExpensiveToday(spent) },
  day: { title: t.cost.perDay, used: (spent) => t.cost.today(spent) },
  month: { title: t.cost.perMonth, used: (spent) => t.cost.thisMonth(spent) },
}

/** How much may be spent, and how near to it we are. */
function BudgetBars({ budgets: { section, caps }, isEditable }: { budgets: BudgetsReply; isEditable: boolean }) {
  return (
    <>
      <ul className="grid gap-3 sm:grid-cols-2">
        {caps.map((budget) => (
          <BudgetBar key={budget.name} budget={budget} />
        ))}
      </ul>
      {!isEditable && (
        <p className="mt-2 text-sm text-soft">
          <Rich text={t.cost.limitsHelp(section)} />
        </p>
      )}
    </>
  )
}

function BudgetBar({
  budget: { name, limit_usd: limit, spent_usd: spent, reserved_usd: reserved },
}: {
  budget: Budget
}) {
  const { title, used } = words[name]
  const share = limit === null ? 0 : limit === 0 ? 1 : Math.min(1, spent / limit)
  const tone = share >= 0.9 ? 'bg-bad' : share >= 0.7 ? 'bg-warn' : 'bg-accent'
  return (
    <li className="rounded-xl border border-line bg-raised px-4 py-3">
      <div className="flex flex-wrap items-baseline justify-between gap-x-3">
        <span className="font-medium">{title}</span>
        <span className="text-sm text-soft tabular-nums">
          {limit === null ? t.cost.noLimit : t.cost.upTo(usd(limit))}
        </span>
      </div>
      {limit !== null && (
        <div aria-hidden="true" className="mt-2 h-2 overflow-hidden rounded-full bg-sunken">
          <div className={classes('h-full rounded-full', tone)} style={{ width: `${share * 100}%` }} />
        </div>
      )}
      <p className="mt-1.5 text-xs text-soft">
        {used(usd(spent))}
        {reserved > 0 && t.cost.reservedRunningCalls(usd(reserved))}
      </p>
    </li>
  )
}

interface SpentLine extends SpentReply {
  name: string
  /** Absent: its name. */
  label?: ReactNode
}

/** A bar for each name, and beside it the figures. The most expensive one has the full width. */
function SpentBars(props: { caption: string; lines: readonly SpentLine[]; measure: Measure }) {
  const { caption, lines, measure } = props
  const most = Math.max(0, ...lines.map((line) => amountOf(line, measure)))
  return (
    <ul aria-label={caption} className="space-y-3">
      {lines.map((line) => (
        <li key={line.name}>
          <div className="flex items-baseline justify-between gap-3 text-sm">
            <span className="min-w-0">{line.label ?? line.name}</span>
            <span className="min-w-fit max-w-1/2 text-end tabular-nums wrap-break-word">
              {amountText(line, measure)}
            </span>
          </div>
          <div aria-hidden="true" className="my-1 h-2 overflow-hidden rounded-full bg-sunken">
            <div
              className="h-full rounded-full bg-series-1"
              style={{ width: `${most > 0 ? (amountOf(line, measure) / most) * 100 : 0}%` }}
            />
          </div>
          <p className="text-xs text-soft">{detailsOf(line, measure)}</p>
        </li>
      ))}
    </ul>
  )
}

function amountOf(line: SpentReply, measure: Measure): number {
  return { cost: line.cost_usd, tokens: line.input_tokens + line.output_tokens, calls: line.calls }[measure]
}

function amountText(line: SpentReply, measure: Measure): string {
  return measure === 'cost' ? costText(line) : count(amountOf(line, measure))
}

/** Figures that the bar does not show. */
function detailsOf(line: SpentReply, measure: Measure): string {
  const cached = cachedShare(line)
  const details = [
    measure !== 'cost' && costText(line),
    measure !== 'calls' && t.cost.calls(line.calls, count(line.calls)),
    t.cost.sentReceived(shortCount(line.input_tokens), shortCount(line.output_tokens)),
    cached !== null && cached > 0 && t.cost.cached(percent(cached)),
  ]
  return details.filter(Boolean).join(' · ')
}

type Days = SpendingReply['days']

const labels: Record<Measure, string> = {
  cost: t.cost.dollarsDayModel,
  tokens: t.cost.tokensDayModel,
  calls: t.cost.callsDayModel,
}

function SpentByDay({ days, measure }: { days: Days; measure: Measure }) {
  const { columns, series } = useMemo(() => columnsOf(days, measure), [days, measure])
  const label = t.cost.tableBelowShowsSame(labels[measure])
  return (
    <>
      {series.length === 0 ? (
        <p className="py-8 text-center text-sm text-soft">{t.cost.noModelUsedPeriod}</p>
      ) : (
        <Plot label={label} columns={columns} series={series} format={measure === 'cost' ? usd : shortCount} />
      )}
      <div className="mt-3">
        <Fold icon="calendar" title={t.cost.table}>
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
        caption={t.cost.costDayNewestFirst}
        columns={[
          { label: t.cost.day },
          { label: t.common.cost, isNumber: true },
          { label: t.common.calls, isNumber: true },
          { label: t.common.sent, isNumber: true, isExtra: true },
          { label: t.cost.received, isNumber: true, isExtra: true },
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

const shownAtFirst = 8

function SpentBySession({ spending, measure }: { spending: SpendingReply; measure: Measure }) {
  const [isAll, setIsAll] = useState(false)
  const sessions = useSessions()
  const { by_session: all, sessions_left_out: leftOut } = spending
  const shown = isAll ? all : all.slice(0, shownAtFirst)
  const lines = shown.map(({ session_id: id, ...spent }): SpentLine => {
    const session = sessions.find((known) => known.id === id)
    // Work beside the conversations is in none of their lists.
    const title = session ? (session.title ?? session.contact) : t.cost.subAgentBuild
    return {
      ...spent,
      name: id ?? '',
      label: id === null ? t.cost.noConversation : <SessionLink id={id} title={title} />,
    }
  })
  return (
    <>
      <SpentBars caption={t.cost.costByConversation} lines={lines} measure={measure} />
      {!isAll && all.length > shownAtFirst && (
        <Button size="small" kind="quiet" className="mt-3" onClick={() => setIsAll(true)}>
          {t.cost.showMore(all.length - shownAtFirst)}
        </Button>
      )}
      {isAll && leftOut > 0 && <p className="mt-3 text-sm text-soft">{t.cost.moreLowerCost(leftOut)}</p>}
    </>
  )
}

function SessionLink({ id, title }: { id: string; title: string }) {
  return <QuietLink href={`/monitor/context/${id}`}>{title}</QuietLink>
}

/** The sums of the period, large. */
function SpentFigures({ total }: { total: SpentReply }) {
  const cached = cachedShare(total)
  const isUnpriced = total.calls > 0 && total.calls === total.unpriced_calls
  const estimated = total.estimated_calls > 0 ? t.cost.callsEstimated(total.estimated_calls) : ''
  const figures = [
    [
      t.cost.spent,
      isUnpriced ? t.cost.unknown : usd(total.cost_usd),
      isUnpriced ? t.cost.noModelPrice : estimated || t.cost.modelsPrice,
    ],
    [
      t.common.calls,
      count(total.calls),
      total.unpriced_calls > 0 ? t.cost.withoutAPrice(count(total.unpriced_calls)) : '',
    ],
    [
      t.cost.tokens,
      shortCount(total.input_tokens + total.output_tokens),
      t.cost.output(shortCount(total.output_tokens)),
    ],
    [t.cost.cachedTitle, cached === null ? '–' : percent(cached), t.cost.ofInputTokens],
  ] as const
  return (
    <dl className="mb-6 grid grid-cols-2 gap-3 lg:grid-cols-4">
      {figures.map(([name, value, detail]) => (
        <div key={name} className="rounded-xl bg-sunken px-4 py-3">
          <dt className="text-sm text-soft">{name}</dt>
          <dd className="text-xl font-semibold tabular-nums">{value}</dd>
          <dd className="min-h-4 text-xs text-soft">{detail}</dd>
        </div>
      ))}
    </dl>
  )
}

const purposes: Record<string, string> = {
  primary: t.common.conversations,
  subagent: t.common.subAgents,
  builder: t.cost.buildingTools,
  compaction: t.cost.compaction,
  compact_block: t.cost.shorteningNotes,
  extraction: t.common.learning,
  consolidation: t.cost.memoryCleanup,
  synthesis: t.cost.memoryReflection,
  deep_memory: t.cost.deepMemorySearch,
  summary: t.cost.summaries,
  mcp_sampling: t.cost.mcpServerRequests,
  image: t.common.pictures,
}

/** The purpose of a call in words; an unknown one as it is. */
export function purposeName(purpose: string): string {
  return purposes[purpose] ?? purpose
}

const periods: { value: NonNullable<Input<'costs.spending'>['period']>; label: string }[] = [
  { value: 'today', label: t.cost.todayTitle },
  { value: 'week', label: t.cost.last7Days },
  { value: 'month', label: t.cost.last30Days },
  { value: 'quarter', label: t.cost.last3Months },
  { value: 'year', label: t.cost.lastYear },
  { value: 'all', label: t.cost.allTime },
]
const measures: { value: Measure; label: string }[] = [
  { value: 'cost', label: t.cost.dollars },
  { value: 'tokens', label: t.cost.tokens },
  { value: 'calls', label: t.common.calls },
]

/** Spending by model and purpose, and the budgets. */
export function CostScreen() {
  const { query } = usePlace()
  const { may_configure } = useWho()
  const period = periods.find(({ value }) => value === query.get('period'))?.value ?? 'month'
  const spending = useAnswer('costs.spending', { period }, { everyMs: 60_000 })
  const budgets = useAnswer('costs.budgets', {}, { everyMs: 10_000 })
  const total = spending.data?.total
  const isUnpriced = total !== undefined && total.calls > 0 && total.calls === total.unpriced_calls
  const measure = measures.find(({ value }) => value === query.get('by'))?.value ?? (isUnpriced ? 'tokens' : 'cost')

  function choose(change: Record<string, string>): void {
    const chosen = new URLSearchParams({ ...Object.fromEntries(query), ...change })
    go(`/cost?${chosen}`, { replace: true })
  }

  return (
    <Screen
      title={t.common.cost}
      intro={t.cost.tokenUseCostEvery}
      actions={
        <>
          <SelectField
            label={t.cost.period}
            isLabelHidden
            choices={periods}
            value={period}
            onChange={(value) => choose({ period: value })}
          />
          <SelectField
            label={t.cost.unit}
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
          <Notice>{t.cost.callsUsedModelsWithout(count(total.unpriced_calls), count(total.calls))}</Notice>
        </div>
      )}
      <Section title={t.cost.limits}>
        {budgets.error && <Failure error={budgets.error} onRetry={budgets.refresh} />}
        {budgets.data && <BudgetBars budgets={budgets.data} isEditable={may_configure} />}
      </Section>
      {may_configure && <BudgetForm onChanged={budgets.refresh} />}
      {!spending.data && spending.isLoading && <p className="breathing text-soft">{t.common.loading}</p>}
      {total?.calls === 0 && <Empty title={t.cost.noModelCallsPeriod}>{t.cost.modelCallsListedHere}</Empty>}
      {spending.data && total && total.calls > 0 && (
        <>
          <Section title={t.cost.byDay}>
            <Panel>
              <SpentByDay days={spending.data.days} measure={measure} />
            </Panel>
          </Section>
          <div className="grid gap-x-6 lg:grid-cols-2">
            <Section title={t.cost.byModel}>
              <SpentBars caption={t.cost.costByModel} measure={measure} lines={spending.data.by_model} />
            </Section>
            <Section title={t.cost.byPurpose}>
              <SpentBars
                caption={t.cost.costByPurpose}
                measure={measure}
                lines={spending.data.by_purpose.map((line) => ({ ...line, label: purposeName(line.name) }))}
              />
            </Section>
          </div>
          <Section title={t.cost.byConversation}>
            <SpentBySession spending={spending.data} measure={measure} />
          </Section>
          <p className="sr-only" role="status">
            {t.cost.totalInCalls(costText(total), total.calls)}
          </p>
        </>
      )}
    </Screen>
  )
}
