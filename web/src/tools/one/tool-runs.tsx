import type { ToolReply } from '../../../../src/protocol/tool-api.ts'
import type { TriggerRunReply, TriggerRunsReply } from '../../../../src/protocol/trigger-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Badge, type BadgeKind } from '../../components/badge.tsx'
import { Empty, Failure } from '../../components/notice.tsx'
import { When } from '../../components/when.tsx'
import { HookSecret } from './hook-secret.tsx'

const states: Record<TriggerRunReply['state'], { name: string; kind: BadgeKind }> = {
  scheduled: { name: 'Planned', kind: 'plain' },
  running: { name: 'Running', kind: 'busy' },
  done: { name: 'Done', kind: 'good' },
  failed: { name: 'Failed', kind: 'bad' },
  missed: { name: 'Missed', kind: 'warn' },
}

/** When it ran without being asked, when it did not, and when it will. */
export function ToolRuns({ tool, path }: { tool: ToolReply; path: string }) {
  const { data, error, refresh } = useAnswer<TriggerRunsReply>(`${path}/runs`, { everyMs: 10_000 })
  return (
    <>
      {tool.trigger === 'webhook' && <HookSecret path={path} />}
      {error && <Failure error={error} onRetry={refresh} />}
      {data?.runs.length === 0 && (
        <Empty title="It has not run yet">Runs by schedule or webhook are written down here, missed ones too.</Empty>
      )}
      <ul className="divide-y divide-line">
        {data?.runs.map((run) => (
          <li key={run.id} className="py-2.5 text-sm">
            <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
              <Badge kind={states[run.state].kind}>{states[run.state].name}</Badge>
              <When at={run.started_at ?? run.due_at} />
              <span className="text-soft">{run.kind === 'cron' ? 'By a schedule' : 'By a webhook'}</span>
              {run.is_late && <span className="text-warn">late</span>}
            </p>
            {run.error && <p className="mt-1 text-bad">{run.error}</p>}
          </li>
        ))}
      </ul>
    </>
  )
}
