import type { TraceReply } from '../../../../src/protocol/trace-api.ts'
import { DataTable } from '../../components/data-table.tsx'
import { QuietLink } from '../../components/quiet-link.tsx'
import { When } from '../../components/when.tsx'
import { count, usd } from '../../cost/money.ts'
import { purposeName } from '../../cost/words.ts'

type Call = TraceReply['other_calls'][number]

const states: Record<Call['state'], string> = {
  settled: '',
  reserved: ' (under way)',
  interrupted: ' (broken off)',
  failed: ' (failed, not charged)',
}

/** Calls of what worked for the turn: they are steps of other sessions, or brought nothing. */
export function OtherCalls({ calls }: { calls: readonly Call[] }) {
  return (
    <DataTable
      caption="Calls that are counted to this turn and are no steps of it"
      columns={[
        { label: 'For' },
        { label: 'Model', isExtra: true },
        { label: 'When' },
        { label: 'Tokens', isNumber: true, isExtra: true },
        { label: 'Cost', isNumber: true },
      ]}
      rows={calls.map((call, index) => ({
        key: `${index}`,
        cells: [
          <span key="for">
            {call.session_id !== null && call.purpose === 'subagent' ? (
              <QuietLink href={`/monitor/turn/${call.session_id}`}>{purposeName(call.purpose)}</QuietLink>
            ) : (
              purposeName(call.purpose)
            )}
            {states[call.state]}
          </span>,
          call.model,
          <When key="when" at={call.at} />,
          call.state === 'reserved' ? '' : count(call.usage.input_tokens + call.usage.output_tokens),
          call.state === 'reserved' ? '' : call.cost_usd === null ? 'no price known' : usd(call.cost_usd),
        ],
      }))}
    />
  )
}
