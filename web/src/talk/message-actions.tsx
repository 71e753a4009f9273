import { useState } from 'react'
import type { ResendReply } from '../../../src/protocol/page-api.ts'
import { ask } from '../api/ask.ts'
import { Button } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { TextArea } from '../components/field.tsx'
import { Icon } from '../components/icon.tsx'
import { useToasts } from '../components/toast.tsx'
import { noteSentHere, toolsForMessage } from '../private-memory/sent-message.ts'
import { go } from '../shell/router.ts'
import { useWho } from '../shell/who.ts'
import type { MessageItem } from './conversation.ts'
import { refreshSessions } from './sessions-store.ts'

/** Copy; or say it differently, in a fork: what was there stays as it was. */
export function MessageActions({ item, sessionId }: { item: MessageItem; sessionId: string | null }) {
  const toasts = useToasts()
  const { name: userName } = useWho()
  const [text, setText] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)

  async function resend(): Promise<void> {
    setIsBusy(true)
    try {
      const { session_id, message_id } = await ask<ResendReply>(`/sessions/${sessionId}/resend`, {
        body: { message_id: item.id, message: text, ...(await toolsForMessage(userName)) },
      })
      refreshSessions()
      // The message is out, whatever the browser's store says.
      await noteSentHere(userName, message_id).catch(toasts.failed)
      setText(undefined)
      go(`/talk/${session_id}`)
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <div className="flex opacity-0 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100">
      <CopyButton text={item.text} />
      <button
        type="button"
        className="inline-flex min-h-7 items-center gap-1 rounded px-1.5 text-xs text-soft hover:text-ink"
        onClick={() => setText(item.text)}
      >
        <Icon name="edit" size={14} /> Edit
      </button>
      <Dialog
        isOpen={text !== undefined}
        onClose={() => setText(undefined)}
        title="Say it differently"
        description="It goes on from here in a conversation of its own; this one stays as it is."
      >
        <TextArea
          label="Message"
          isLabelHidden
          rows={6}
          autoFocus
          value={text ?? ''}
          onChange={(event) => setText(event.target.value)}
        />
        <Button kind="main" className="mt-3" isBusy={isBusy} disabled={!text?.trim()} onClick={() => void resend()}>
          Send
        </Button>
      </Dialog>
    </div>
  )
}
