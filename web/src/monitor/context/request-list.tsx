import { useCallback, useEffect, useState } from 'react'
import type { RequestsReply } from '../../../../src/protocol/trace-api.ts'
import { ask } from '../../api/ask.ts'
import { Button } from '../../components/button.tsx'
import { Legend } from '../../components/legend.tsx'
import { Empty, Failure } from '../../components/notice.tsx'
import { QuietLink } from '../../components/quiet-link.tsx'
import { StackedBar } from '../../components/stacked-bar.tsx'
import { When } from '../../components/when.tsx'
import { count, usd } from '../../cost/money.ts'
import { requestPartNames, requestParts } from './request-parts.ts'

type Request = RequestsReply['requests'][number]

/** Every request of a conversation, newest first, as far as the provider told what it held. */
export function RequestList({ sessionId }: { sessionId: string }) {
  const [requests, setRequests] = useState<Request[]>([])
  const [before, setBefore] = useState<number | null>()
  const [error, setError] = useState<Error>()

  const load = useCallback(
    async (from?: number) => {
      try {
        const page = await ask<RequestsReply>(`/sessions/${sessionId}/requests`, { query: { before: from } })
        setRequests((known) => (from === undefined ? page.requests : [...known, ...page.requests]))
        setBefore(page.before)
        setError(undefined)
      } catch (cause) {
        setError(cause instanceof Error ? cause : new Error(String(cause)))
      }
    },
    [sessionId],
  )
  useEffect(() => void load(), [load])

  const most = Math.max(1, ...requests.map(({ usage }) => usage.input_tokens + usage.output_tokens))
  return (
    <>
      {error && <Failure error={error} onRetry={() => void load(before ?? undefined)} />}
      {before !== undefined && requests.length === 0 && (
        <Empty title="No request yet">Once something was said here, each request to a model is listed.</Empty>
      )}
      {requests.length > 0 && <Legend names={requestPartNames} />}
      <ol className="mt-3 space-y-3">
        {requests.map((request) => (
          <li key={request.seq}>
            <RequestLine request={request} sessionId={sessionId} most={most} />
          </li>
        ))}
      </ol>
      {before !== undefined && before !== null && (
        <Button className="mt-4" onClick={() => void load(before)}>
          Show earlier ones
        </Button>
      )}
    </>
  )
}

function RequestLine({ request, sessionId, most }: { request: Request; sessionId: string; most: number }) {
  const parts = requestParts(request.usage)
  const told = parts.filter(({ value }) => value > 0).map(({ name, value }) => `${name.toLowerCase()} ${count(value)}`)
  return (
    <>
      <div className="mb-1 flex flex-wrap items-baseline gap-x-3 text-xs text-soft">
        <When at={request.at} />
        <span>{request.model}</span>
        <span>{request.cost_usd === null ? 'no price known' : usd(request.cost_usd)}</span>
        {request.turn_id !== null && (
          <QuietLink href={`/monitor/turn/${sessionId}/${request.turn_id}`}>Timeline of its turn</QuietLink>
        )}
      </div>
      <StackedBar isThin label={told.join(', ') || 'nothing counted'} parts={parts} most={most} />
      <p aria-hidden="true" className="mt-0.5 text-xs text-soft">
        {told.join(' · ') || 'nothing counted'}
      </p>
    </>
  )
}
