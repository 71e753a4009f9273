import type { SchedulePreviewReply } from '../../../src/protocol/schedule-api.ts'
import { cronWords } from './cron-words.ts'
import { momentIn } from './moment.ts'

/** What a time that is being typed would come to. */
export function PreviewTimes({ reply, problem }: { reply?: SchedulePreviewReply; problem?: string }) {
  const words = reply && reply.kind !== 'once' ? cronWords(reply.expression) : undefined
  return (
    <div role="status" className="text-sm">
      {problem && <p className="text-bad">{problem}</p>}
      {reply && (
        <>
          <p className="text-soft">{words ? `It comes ${words}. Next:` : 'It comes:'}</p>
          <ol className="mt-1">
            {reply.times.map((time) => (
              <li key={time}>{momentIn(time, reply.time_zone)}</li>
            ))}
          </ol>
        </>
      )}
    </div>
  )
}
