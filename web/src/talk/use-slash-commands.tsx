import { type ReactNode, useState } from 'react'
import type { RunCommandReply } from '../../../src/protocol/command-api.ts'
import { ask } from '../api/ask.ts'
import { Button, IconButton } from '../components/button.tsx'
import { Icon } from '../components/icon.tsx'
import { useToasts } from '../components/toast.tsx'
import { go } from '../shell/router.ts'
import { refreshSessions } from './sessions-store.ts'

/** Runs what is typed with a slash, and shows what it answered above the field, until something else is typed. */
export function useSlashCommands({ sessionId }: { sessionId: string | null }): {
  run(line: string, confirm?: string): Promise<void>
  view: ReactNode
} {
  const toasts = useToasts()
  const [shown, setShown] = useState<{ line: string; reply: RunCommandReply }>()

  async function run(line: string, confirm?: string): Promise<void> {
    try {
      const reply = await ask<RunCommandReply>('/commands', {
        body: { line, ...(sessionId && { session: sessionId }), ...(confirm && { confirm }) },
      })
      setShown({ line, reply })
      refreshSessions()
      if (reply.goes_on_in !== null) go(`/talk/${await idOf(reply.goes_on_in)}`)
    } catch (error) {
      toasts.failed(error)
    }
  }

  const view = shown && (
    <section aria-label={shown.line} className="relative mb-2 rounded-xl border border-line bg-raised p-3 shadow-sm">
      <div className="flex items-start justify-between gap-2">
        <p className="font-mono text-xs text-soft">{shown.line}</p>
        <IconButton label="Close" className="size-7" onClick={() => setShown(undefined)}>
          <Icon name="close" size={14} />
        </IconButton>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <pre tabIndex={0} role="status" className="max-h-72 overflow-auto whitespace-pre-wrap font-sans text-sm">
        {shown.reply.question?.text ?? shown.reply.text}
      </pre>
      {shown.reply.question && (
        <div className="mt-2 flex gap-2">
          <Button kind="main" onClick={() => void run(shown.line, shown.reply.question?.confirm)}>
            Yes
          </Button>
          <Button onClick={() => setShown(undefined)}>No</Button>
        </div>
      )}
    </section>
  )
  return { run, view }
}

/** Commands name a session by its contact or id. */
async function idOf(nameOrId: string): Promise<string> {
  const { session_id } = await ask<{ session_id: string }>(`/sessions/${encodeURIComponent(nameOrId)}/history`, {
    query: { limit: 1 },
  })
  return session_id
}
