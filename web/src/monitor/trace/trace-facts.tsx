import type { TraceReply } from '../../../../src/protocol/trace-api.ts'
import { Facts } from '../../components/facts.tsx'
import { duration } from '../../components/when.tsx'
import { count, percent, usd } from '../../cost/money.ts'
import { traceSums } from './timeline.ts'

const outcomes: Record<NonNullable<TraceReply['outcome']>, string> = {
  completed: 'done',
  question: 'ended with a question',
  stopped: 'you stopped it',
  round_limit: 'too many steps',
  repeated_failure: 'the same thing failed again and again',
  budget: 'a limit on what may be spent',
  failed: 'the model failed',
}

export function TraceFacts({ trace, tookMs }: { trace: TraceReply; tookMs: number }) {
  const sums = traceSums(trace)
  const began = new Date(trace.started_at ?? '')
  const price = sums.unpricedCalls > 0 ? `, ${sums.unpricedCalls} calls without a price` : ''
  return (
    <div className="mb-6">
      <Facts
        facts={[
          ['Began', began.toLocaleString()],
          ['Outcome', trace.outcome === null ? 'still running' : outcomes[trace.outcome]],
          ['Took', duration(tookMs)],
          ['Waited to try again', sums.waitedMs > 0 && duration(sums.waitedMs)],
          ['Calls', `${count(sums.calls)} of models, ${count(sums.tools)} of tools`],
          [
            'Tokens',
            `${count(sums.inputTokens)} sent, ${count(sums.outputTokens)} received${sums.cachedTokens > 0 ? `, ${percent(sums.cachedTokens / sums.inputTokens)} from the cache` : ''}`,
          ],
          ['Cost', sums.unpricedCalls === sums.calls && sums.calls > 0 ? 'no price known' : usd(sums.costUsd) + price],
        ]}
      />
    </div>
  )
}
