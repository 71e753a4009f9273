import type { ReactNode } from 'react'
import type { SpawnReply, SpawnsReply } from '../../../../src/protocol/spawn-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Badge, type BadgeKind } from '../../components/badge.tsx'
import { Markdown } from '../../components/markdown.tsx'
import { inputText } from './input-text.ts'
import type { OverlayProps } from './overlay.ts'

const states: Record<SpawnReply['state'], { name: string; kind: BadgeKind }> = {
  running: { name: 'At work', kind: 'busy' },
  done: { name: 'Done', kind: 'good' },
  failed: { name: 'Failed', kind: 'bad' },
  stopped: { name: 'Stopped', kind: 'plain' },
}

export function showSpawn(props: OverlayProps): ReactNode {
  const task = inputText(props.tool.input, 'task').trim()
  return task === '' ? null : <SpawnView {...props} task={task} />
}

/** A sub-agent: what it was given to do, how far it is, and what it has come to. */
function SpawnView({ tool, sessionId, task }: OverlayProps & { task: string }) {
  const isRunning = tool.result === undefined
  const { data } = useAnswer<SpawnsReply>(sessionId === null ? null : `/sessions/${sessionId}/spawns`, {
    ...(isRunning && { everyMs: 2_000 }),
  })
  // A call has no other name for what it has spawned than the task that it gave.
  const spawn = data?.spawns.findLast((one) => one.task === task)
  const answer = spawn?.result?.text ?? (isRunning ? undefined : tool.result?.text)
  return (
    <div className="space-y-2 text-sm">
      <p className="flex flex-wrap items-center gap-2">
        {spawn && <Badge kind={states[spawn.state].kind}>{states[spawn.state].name}</Badge>}
        {spawn?.doing && (
          <span className="text-soft">
            step {spawn.doing.round}
            {spawn.doing.tools.length > 0 && `, ${spawn.doing.tools.join(', ')}`}
          </span>
        )}
      </p>
      <p className="whitespace-pre-wrap text-soft">{task}</p>
      {answer && <Markdown text={answer} />}
    </div>
  )
}
