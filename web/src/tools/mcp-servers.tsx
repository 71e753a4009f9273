import type { McpServersReply } from '../../../src/protocol/mcp-api.ts'
import { ask } from '../api/ask.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Badge, type BadgeKind } from '../components/badge.tsx'
import { Button } from '../components/button.tsx'
import { CommandLine } from '../components/command-line.tsx'
import { Empty, Failure, Notice } from '../components/notice.tsx'
import { Panel } from '../components/screen.tsx'
import { useToasts } from '../components/toast.tsx'

type McpServer = McpServersReply['servers'][number]

const states: Record<McpServer['state'], { name: string; kind: BadgeKind }> = {
  new: { name: 'Waits for your word', kind: 'warn' },
  approved: { name: 'Approved', kind: 'good' },
  changed: { name: 'Changed since you approved it', kind: 'warn' },
  disabled: { name: 'Off', kind: 'plain' },
}

/** Servers of the Model Context Protocol. They name programs, so that the word is given on the machine itself. */
export function McpServers() {
  const toasts = useToasts()
  const { data, error, refresh, put } = useAnswer<McpServersReply>('/mcp', { everyMs: 15_000 })

  async function readAgain(): Promise<void> {
    try {
      put(await ask<McpServersReply>('/mcp/refresh', { body: {} }))
      toasts.done('Read again.')
    } catch (cause) {
      toasts.failed(cause)
    }
  }

  if (error) return <Failure error={error} onRetry={refresh} />
  if (!data) return <p className="breathing text-soft">One moment …</p>
  if (data.servers.length === 0) {
    return (
      <Empty title="No server is set up">
        A server brings tools of another program, such as a calendar or a database. It is named in{' '}
        <code className="font-mono">familiar.toml</code> under <code className="font-mono">[mcp.servers]</code>, on this
        machine alone.
      </Empty>
    )
  }
  return (
    <>
      <div className="mb-3 flex justify-end">
        <Button size="small" onClick={() => void readAgain()}>
          Read again
        </Button>
      </div>
      <ul className="space-y-3">
        {data.servers.map((server) => (
          <li key={server.name}>
            <ServerPanel server={server} />
          </li>
        ))}
      </ul>
    </>
  )
}

function ServerPanel({ server }: { server: McpServer }) {
  const { name, state, is_connected, tools, changes } = server
  return (
    <Panel>
      <div className="flex flex-wrap items-center gap-2">
        <h2 className="font-semibold">{name}</h2>
        <Badge kind={states[state].kind}>{states[state].name}</Badge>
        {state === 'approved' && (
          <Badge kind={is_connected ? 'good' : 'bad'}>{is_connected ? 'Connected' : 'Not connected'}</Badge>
        )}
      </div>
      {(state === 'new' || state === 'changed') && (
        <div className="mt-3 space-y-2">
          <Notice kind="warning">
            {state === 'new'
              ? 'None of its tools can be called yet.'
              : 'Its tools are off until you have looked again.'}{' '}
            Approve it in a terminal on this machine:
          </Notice>
          <CommandLine command={`familiar mcp approve ${name}`} />
        </div>
      )}
      {changes.length > 0 && (
        <ul className="mt-3 list-disc space-y-1 ps-5 text-sm text-soft">
          {changes.map((change) => (
            <li key={change}>{change}</li>
          ))}
        </ul>
      )}
      {tools.length > 0 && (
        <ul aria-label={`Tools of ${name}`} className="mt-3 space-y-1.5 text-sm">
          {tools.map((tool) => (
            <li key={tool.name}>
              <span className="font-mono text-[0.8125rem]">{tool.name}</span>{' '}
              <span className="text-soft">{tool.description}</span>
              {tool.problem && <span className="block text-warn">{tool.problem}</span>}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
