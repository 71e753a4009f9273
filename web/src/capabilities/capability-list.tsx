import { useEffect, useState } from 'react'
import type {
  CapabilitiesReply,
  CapabilityProposalsReply,
  CapabilitySummaryReply,
} from '../../../src/protocol/capability-api.ts'
import { useAnswer } from '../api/use-answer.ts'
import { TextField } from '../components/field.tsx'
import { Empty, Failure } from '../components/notice.tsx'
import { When } from '../components/when.tsx'
import { Link } from '../shell/link.tsx'
import { useQueryValue } from '../shell/use-query-value.ts'
import { CapabilityState, originNames } from './capability-state.tsx'

/** All of them by name; with words, those that fit, best first. */
export function CapabilityList() {
  const [query, setQuery] = useQueryValue('q')
  const asked = useSettled(query.trim())
  const { data, error, refresh } = useAnswer<CapabilitiesReply>('/capabilities', {
    query: { query: asked },
    everyMs: 10_000,
  })
  const proposals = useAnswer<CapabilityProposalsReply>('/capabilities/proposals').data?.proposals ?? []
  const reasons = new Map(proposals.map(({ name, reason }) => [name, reason]))
  if (error) return <Failure error={error} onRetry={refresh} />
  return (
    <>
      <TextField
        label="Search capabilities"
        isLabelHidden
        type="search"
        placeholder="What should it do?"
        className="mb-4"
        value={query}
        onChange={(event) => setQuery(event.target.value)}
      />
      {data?.capabilities.length === 0 &&
        (asked === '' ? (
          <Empty title="None yet">
            Ask for something that no tool can do, such as “tell me when the next tram leaves”. Familiar then writes a
            small program for it, tries it out in a sandbox and keeps it.
          </Empty>
        ) : (
          <Empty title="None fits">Ask for it in a conversation, and it can be built.</Empty>
        ))}
      <ul className="divide-y divide-line">
        {data?.capabilities.map((capability) => (
          <CapabilityLine key={capability.name} capability={capability} advice={reasons.get(capability.name)} />
        ))}
      </ul>
    </>
  )
}

function CapabilityLine({ capability, advice }: { capability: CapabilitySummaryReply; advice: string | undefined }) {
  const { name, description, problem, version, calls, last_called_at, origin } = capability
  return (
    <li>
      <Link
        href={`/capabilities/${encodeURIComponent(name)}`}
        className="-mx-2 block rounded-lg px-2 py-2.5 hover:bg-sunken"
      >
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="font-medium">{name}</span>
          <CapabilityState capability={capability} />
          <span className="text-xs text-soft">{version === null ? originNames[origin] : `v${version}`}</span>
        </span>
        <span className="line-clamp-2 block text-sm text-soft">{description}</span>
        <span className="block text-xs text-soft">
          {calls === 0 ? 'Never called' : calls === 1 ? 'Called once' : `Called ${calls} times`}
          {last_called_at && (
            <>
              , last <When at={last_called_at} />
            </>
          )}
        </span>
        {problem && <span className="block text-sm text-warn">{problem}</span>}
        {advice && <span className="block text-sm text-soft">You may want to switch it off: {advice}</span>}
      </Link>
    </li>
  )
}

/** What stands there once nobody has typed for a moment. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), 250)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
