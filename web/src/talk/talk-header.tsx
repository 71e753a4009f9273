import { useState } from 'react'
import type { PageSession } from '../../../src/protocol/page-api.ts'
import { ask } from '../api/ask.ts'
import { Button, IconButton } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { TextField } from '../components/field.tsx'
import { Icon } from '../components/icon.tsx'
import { Menu } from '../components/menu.tsx'
import { useToasts } from '../components/toast.tsx'
import { go } from '../shell/router.ts'
import { refreshSessions } from './sessions-store.ts'

export function TalkHeader({ session, isCutOff }: { session: PageSession; isCutOff: boolean }) {
  const toasts = useToasts()
  const [title, setTitle] = useState<string>()

  async function rename(): Promise<void> {
    await ask(`/sessions/${session.id}/title`, { method: 'PUT', body: { title: title ?? '' } }).catch(toasts.failed)
    setTitle(undefined)
    refreshSessions()
  }

  async function archive(): Promise<void> {
    try {
      await ask('/sessions/reset', { body: { target: session.id } })
      toasts.done('Archived. Nothing is deleted.')
      refreshSessions()
      go('/')
    } catch (error) {
      toasts.failed(error)
    }
  }

  return (
    <header className="flex items-center gap-2 border-b border-line px-4 py-1.5">
      <h1 className="min-w-0 flex-1 truncate font-medium">{session.title ?? session.contact}</h1>
      {session.channel !== 'web' && (
        <span className="rounded-full bg-sunken px-2 py-0.5 text-xs text-soft">{session.channel}</span>
      )}
      <span role="status" className="text-sm text-warn">
        {isCutOff && 'Connection lost. It comes back by itself.'}
      </span>
      <Menu
        trigger={
          <IconButton label="More">
            <Icon name="more" />
          </IconButton>
        }
        items={[
          { label: 'Rename', icon: 'edit', onSelect: () => setTitle(session.title ?? session.contact) },
          { label: 'Export', icon: 'arrow_down', onSelect: () => void exportSession(session) },
          {
            label: 'Archive',
            icon: 'archive',
            onSelect: () => void archive(),
            isDisabled: session.state === 'archived',
          },
        ]}
      />
      <Dialog isOpen={title !== undefined} onClose={() => setTitle(undefined)} title="Rename">
        <form
          className="space-y-3"
          onSubmit={(event) => {
            event.preventDefault()
            void rename()
          }}
        >
          <TextField
            label="Title"
            value={title ?? ''}
            maxLength={200}
            onChange={(event) => setTitle(event.target.value)}
          />
          <Button type="submit" kind="main">
            Save
          </Button>
        </form>
      </Dialog>
    </header>
  )
}

/** The whole log, one event a line. */
async function exportSession(session: PageSession): Promise<void> {
  const lines: string[] = []
  for (let after: number | null = 0; after !== null; ) {
    const page: { events: unknown[]; next_after: number | null } = await ask(`/sessions/${session.id}/history`, {
      query: { full: true, after, limit: 1_000 },
    })
    lines.push(...page.events.map((event) => JSON.stringify(event)))
    after = page.next_after
  }
  const address = URL.createObjectURL(new Blob([`${lines.join('\n')}\n`], { type: 'application/x-ndjson' }))
  const link = document.createElement('a')
  link.href = address
  link.download = `${(session.title ?? session.contact).replaceAll(/[^\p{L}\p{N} ._-]/gu, '_')}.jsonl`
  link.click()
  URL.revokeObjectURL(address)
}
