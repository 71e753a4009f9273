import { useState } from 'react'
import type { SpendingReply } from '../../../src/protocol/cost-api.ts'
import { Button } from '../components/button.tsx'
import { QuietLink } from '../components/quiet-link.tsx'
import { useSessions } from '../talk/sessions-store.ts'
import type { Measure } from './day-columns.ts'
import { SpentBars, type SpentLine } from './spent-bars.tsx'

const shownAtFirst = 8

export function SpentBySession({ spending, measure }: { spending: SpendingReply; measure: Measure }) {
  const [isAll, setIsAll] = useState(false)
  const sessions = useSessions()
  const { by_session: all, sessions_left_out: leftOut } = spending
  const shown = isAll ? all : all.slice(0, shownAtFirst)
  const lines = shown.map(({ session_id: id, ...spent }): SpentLine => {
    const session = sessions.find((known) => known.id === id)
    // Work beside the conversations is in none of their lists.
    const title = session ? (session.title ?? session.contact) : 'A sub-agent or a build'
    return {
      ...spent,
      name: id ?? '',
      label: id === null ? 'In no conversation' : <SessionLink id={id} title={title} />,
    }
  })
  return (
    <>
      <SpentBars caption="Spent by conversation" lines={lines} measure={measure} />
      {!isAll && all.length > shownAtFirst && (
        <Button size="small" kind="quiet" className="mt-3" onClick={() => setIsAll(true)}>
          Show {all.length - shownAtFirst} more
        </Button>
      )}
      {isAll && leftOut > 0 && <p className="mt-3 text-sm text-soft">{leftOut} more cost less than these.</p>}
    </>
  )
}

function SessionLink({ id, title }: { id: string; title: string }) {
  return <QuietLink href={`/monitor/context/${id}`}>{title}</QuietLink>
}
