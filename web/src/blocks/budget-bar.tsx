import { classes } from '../components/classes.ts'

/** How much of what may stand in every prompt the pinned blocks have. */
export function BudgetBar({ used, budget }: { used: number; budget: number }) {
  const isOver = used > budget
  const percent = budget === 0 ? 100 : Math.min(100, (used / budget) * 100)
  const text = `${used.toLocaleString()} of ${budget.toLocaleString()} tokens`
  return (
    <div className="mb-4">
      <div className="mb-1 flex flex-wrap justify-between gap-x-3 text-sm">
        <span className="text-soft">Room in the prompt</span>
        <span className={classes('tabular-nums', isOver && 'font-medium text-bad')}>{text}</span>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a meter cannot have the colours of the page. */}
      <div
        role="meter"
        aria-label="Room in the prompt that is used"
        aria-valuemin={0}
        aria-valuemax={budget}
        aria-valuenow={Math.min(used, budget)}
        aria-valuetext={text}
        className="h-2.5 overflow-hidden rounded-full bg-sunken"
      >
        <div
          className={classes('h-full rounded-full', isOver ? 'bg-bad' : percent > 85 ? 'bg-warn' : 'bg-accent')}
          style={{ width: `${percent}%` }}
        />
      </div>
      {isOver && (
        <p className="mt-1 text-sm text-bad">
          The pinned blocks are larger than the budget. Until they fit, no block can grow: compact one, unpin one, or
          raise block_budget_tokens in familiar.toml.
        </p>
      )}
    </div>
  )
}
