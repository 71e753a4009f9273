import type { CapsReply } from '../../../src/protocol/cost-api.ts'
import { classes } from '../components/classes.ts'
import { usd } from './money.ts'

type Cap = CapsReply['caps'][number]

const words: Record<Cap['name'], { title: string; used(spent: string): string }> = {
  message: { title: 'One message', used: (spent) => `${spent} for the dearest one today` },
  build: { title: 'One build', used: (spent) => `${spent} for the dearest one today` },
  day: { title: 'One day', used: (spent) => `${spent} today` },
  month: { title: 'One month', used: (spent) => `${spent} this month` },
}

/** How much may be spent, and how near to it we are. They are changed in the config, not here. */
export function CapBars({ caps: { section, caps } }: { caps: CapsReply }) {
  return (
    <>
      <ul className="grid gap-3 sm:grid-cols-2">
        {caps.map((cap) => (
          <CapBar key={cap.name} cap={cap} />
        ))}
      </ul>
      <p className="mt-2 text-sm text-soft">
        A call that could pass one of these is not made. They stand under{' '}
        <code className="font-mono text-xs">[{section}]</code> in familiar.toml.
      </p>
    </>
  )
}

function CapBar({ cap: { name, limit_usd: limit, spent_usd: spent, reserved_usd: reserved } }: { cap: Cap }) {
  const { title, used } = words[name]
  const share = limit === null ? 0 : limit === 0 ? 1 : Math.min(1, spent / limit)
  const tone = share >= 0.9 ? 'bg-bad' : share >= 0.7 ? 'bg-warn' : 'bg-accent'
  return (
    <li className="rounded-xl border border-line bg-raised px-4 py-3">
      <div className="flex flex-wrap items-baseline justify-between gap-x-3">
        <span className="font-medium">{title}</span>
        <span className="text-sm text-soft tabular-nums">{limit === null ? 'no limit' : `up to ${usd(limit)}`}</span>
      </div>
      {limit !== null && (
        <div aria-hidden="true" className="mt-2 h-2 overflow-hidden rounded-full bg-sunken">
          <div className={classes('h-full rounded-full', tone)} style={{ width: `${share * 100}%` }} />
        </div>
      )}
      <p className="mt-1.5 text-xs text-soft">
        {used(usd(spent))}
        {reserved > 0 && `, ${usd(reserved)} set aside for calls under way`}
      </p>
    </li>
  )
}
