import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from 'react'
import type { MessageBranches } from '../../../src/protocol/page.ts'
import { call } from '../api/call.ts'
import { Button, CopyButton, classes } from '../components/controls.tsx'
import { useToasts } from '../components/feedback.tsx'
import { Dialog, TextArea } from '../components/forms.tsx'
import { Icon, type IconName } from '../components/icon.tsx'
import { noteSentHere, toolsForMessage } from '../memory/private/use-client-tools.ts'
import { useWho } from '../shell/account.tsx'
import { t } from '../strings/strings.ts'
import { ReadAloud } from '../voice/voice-controls.tsx'
import { insertIntoComposer } from './composer.tsx'
import { type Conversation, isWorking, type MessageItem, type TurnItem } from './conversation.ts'
import { refreshSessions } from './sessions.ts'

interface ChatActions {
  /** False while a reply is written, and where the conversation is over. */
  canChange: boolean
  branches: readonly MessageBranches[]
  /** True if it was sent. */
  resend(messageId: string, text?: string): Promise<boolean>
  choose(messageId: string): Promise<void>
  remove(messageId: string): Promise<void>
  /** Asks the model to continue its reply. */
  goOn(): void
}

const Context = createContext<ChatActions | undefined>(undefined)

/** The alternatives of the conversation, read again after each change of it. */
function useBranches(sessionId: string | null, conversation: Conversation): readonly MessageBranches[] {
  const [found, setFound] = useState<{ sessionId: string | null; branches: readonly MessageBranches[] }>()
  const branches = found?.sessionId === sessionId ? found.branches : []
  const turns = conversation.items.filter(({ kind }) => kind === 'turn').length
  const isBranched = conversation.jumped !== undefined || branches.length > 0
  const place = isBranched ? `${conversation.jumped} ${turns}` : ''
  // biome-ignore lint/correctness/useExhaustiveDependencies: the place says when they may have changed.
  useEffect(() => {
    if (sessionId === null) return
    const controller = new AbortController()
    call('page.branches', { id: sessionId }, { signal: controller.signal }).then(
      (reply) => setFound({ sessionId, branches: reply.branches }),
      // Without them the conversation can still be read; the next change tries again.
      () => undefined,
    )
    return () => controller.abort()
  }, [sessionId, place])
  return branches
}

/** Offers the actions of a conversation to the messages below. */
export function ChatActionsProvider(props: {
  sessionId: string | null
  conversation: Conversation
  isArchived: boolean
  onSend(text: string): unknown
  children: ReactNode
}) {
  const { sessionId, conversation, isArchived, onSend } = props
  const toasts = useToasts()
  const { name: userName } = useWho()
  const branches = useBranches(sessionId, conversation)
  const canChange = sessionId !== null && !isArchived && !isWorking(conversation)
  const actions = useMemo((): ChatActions => {
    const id = sessionId ?? ''
    async function attempt(work: () => Promise<unknown>): Promise<boolean> {
      try {
        await work()
        refreshSessions()
        return true
      } catch (error) {
        toasts.failed(error)
        return false
      }
    }
    const choose = async (messageId: string) =>
      void (await attempt(() => call('page.chooseBranch', { id, message_id: messageId })))
    return {
      canChange,
      branches,
      resend: (messageId, text) =>
        attempt(async () => {
          const { message_id } = await call('page.resend', {
            id,
            message_id: messageId,
            ...(text !== undefined && { message: text }),
            ...(await toolsForMessage(userName)),
          })
          // The message was sent even if the browser's storage fails.
          await noteSentHere(userName, message_id).catch(toasts.failed)
        }),
      choose,
      async remove(messageId) {
        const isDone = await attempt(() => call('page.removeBranch', { id, message: messageId }))
        if (isDone) toasts.done(t.chat.messageDeleted, { label: t.common.undo, run: () => void choose(messageId) })
      },
      goOn: () => void onSend(t.chat.continueMessage),
    }
  }, [sessionId, canChange, branches, userName, onSend, toasts])
  return <Context value={actions}>{props.children}</Context>
}

function Action(props: { icon: IconName; label: string; isDisabled?: boolean; isEdit?: boolean; onClick(): unknown }) {
  const { icon, label, isDisabled = false, isEdit, onClick } = props
  const [isBusy, setIsBusy] = useState(false)
  async function run(): Promise<void> {
    if (isBusy) return
    setIsBusy(true)
    await onClick()
    setIsBusy(false)
  }
  return (
    <button
      type="button"
      disabled={isDisabled}
      // A disabled button would lose the focus.
      aria-disabled={isBusy}
      // For the arrow key in the message field.
      data-edit-message={isEdit}
      // The selection stays, so that a part of the message can be quoted.
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => void run()}
      className="inline-flex min-h-7 items-center gap-1 rounded px-1.5 text-xs text-soft hover:text-ink disabled:opacity-40 aria-disabled:opacity-40 pointer-coarse:min-h-9"
    >
      <Icon name={icon} size={14} /> {label}
    </button>
  )
}

/** A pressed button of a switch: the other version has its own, which gets the focus. */
let pressed: { shown: string; name: string } | undefined

/** `‹ 2/3 ›`: the alternatives at one place, and the way to the others. */
function BranchSwitch({ label, all, shown }: { label: string; all: readonly string[]; shown: string }) {
  const actions = useContext(Context)
  const group = useRef<HTMLSpanElement>(null)
  const at = all.indexOf(shown)
  useEffect(() => {
    if (pressed?.shown !== shown || at < 0) return
    const button = group.current?.querySelector<HTMLElement>(`[aria-label="${pressed.name}"]`)
    // Until the pressed button is gone, it has the focus itself.
    if (!button || document.activeElement !== document.body) return
    button.focus()
    pressed = undefined
  }, [shown, at])
  if (!actions || all.length < 2 || at < 0) return null
  const step = (by: number, name: string, icon: IconName) => {
    const next = actions.canChange ? all[at + by] : undefined
    return (
      <button
        type="button"
        aria-label={name}
        title={name}
        // Not `disabled`, which would take the focus away at the first and the last one.
        aria-disabled={next === undefined}
        onClick={() => {
          if (next === undefined) return
          pressed = { shown: next, name }
          void actions.choose(next)
        }}
        className="inline-flex size-7 items-center justify-center rounded hover:bg-sunken hover:text-ink aria-disabled:opacity-40 pointer-coarse:size-9"
      >
        <Icon name={icon} size={14} />
      </button>
    )
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form.
    <span
      ref={group}
      role="group"
      aria-label={label}
      className="inline-flex shrink-0 items-center text-xs text-soft tabular-nums"
    >
      {step(-1, t.chat.previousVersion, 'chevron_left')}
      <span aria-live="polite">
        {at + 1}/{all.length}
      </span>
      {step(1, t.chat.nextVersion, 'chevron_right')}
    </span>
  )
}

/** Visible on hovering and with the focus inside, and always on a touch screen and at the newest messages. */
const onDemand =
  'opacity-0 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100 group-data-newest:opacity-100 pointer-coarse:opacity-100'

function quote(text: string): void {
  const selected = document.getSelection()?.toString().trim()
  const chosen = selected && text.includes(selected) ? selected : text.trim()
  insertIntoComposer(`${chosen.replaceAll(/^/gm, '> ')}\n\n`)
}

export function MessageActions({ item }: { item: MessageItem }) {
  const actions = useContext(Context)
  const [text, setText] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)
  const edits = actions?.branches.find(({ message_id }) => message_id === item.id)?.edits ?? []

  async function resend(): Promise<void> {
    setIsBusy(true)
    if (await actions?.resend(item.id, text ?? '')) setText(undefined)
    setIsBusy(false)
  }

  return (
    <div className="flex min-h-7 flex-wrap items-center justify-end">
      <div className={classes('flex flex-wrap items-center justify-end', onDemand)}>
        <CopyButton text={item.text} />
        <Action icon="quote" label={t.chat.quote} onClick={() => quote(item.text)} />
        {actions?.canChange && (
          <>
            <Action icon="edit" label={t.common.edit} isEdit onClick={() => setText(item.text)} />
            <Action icon="trash" label={t.chat.delete} onClick={() => actions.remove(item.id)} />
          </>
        )}
      </div>
      <BranchSwitch label={t.chat.versionsOfMessage} all={edits} shown={item.id} />
      <Dialog
        isOpen={text !== undefined}
        onClose={() => setText(undefined)}
        title={t.chat.editMessage}
        description={t.chat.sendsEditedMessageNew}
      >
        <TextArea
          label={t.common.message}
          isLabelHidden
          rows={6}
          autoFocus
          value={text ?? ''}
          onChange={(event) => setText(event.target.value)}
        />
        <Button kind="main" className="mt-3" isBusy={isBusy} disabled={!text?.trim()} onClick={() => void resend()}>
          {t.common.send}
        </Button>
      </Dialog>
    </div>
  )
}

/** The message of the user that a turn answers. Undefined where something else started it. */
export interface Asked {
  messageId: string
  /** Of the turn itself, where it answers the message directly. */
  ownIds: readonly string[]
}

export function TurnActions({
  turn,
  asked,
  children,
}: {
  turn: TurnItem
  asked: Asked | undefined
  children: ReactNode
}) {
  const actions = useContext(Context)
  const spoken = turn.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n\n')
  const place = actions?.branches.find(({ message_id }) => asked?.ownIds.includes(message_id))
  const isUnfinished = turn.outcome === 'stopped' || turn.outcome === 'round_limit' || isCut(spoken)
  return (
    <footer className="mt-1 flex min-h-7 items-start text-xs text-soft">
      {place && <BranchSwitch label={t.chat.versionsOfAnswer} all={place.answers} shown={place.message_id} />}
      <div className={classes('flex min-w-0 flex-1 flex-wrap items-center', onDemand)}>
        {spoken !== '' && <CopyButton text={spoken} />}
        {spoken !== '' && <Action icon="quote" label={t.chat.quote} onClick={() => quote(spoken)} />}
        {asked && actions?.canChange && (
          <Action icon="repeat" label={t.chat.regenerate} onClick={() => actions.resend(asked.messageId)} />
        )}
        {isUnfinished && actions?.canChange && (
          <Action icon="send" label={t.chat.continue} onClick={() => actions.goOn()} />
        )}
        {spoken !== '' && <ReadAloud id={turn.id} text={spoken} />}
        <span className="flex flex-wrap items-center gap-2 px-1.5">{children}</span>
      </div>
    </footer>
  )
}

/** A reply that reached its length limit ends with this note of the daemon, in English. */
const cutNote = '[The reply was cut at its length limit. Say “continue” for the rest.]'

function isCut(text: string): boolean {
  return text.trimEnd().endsWith(cutNote)
}

/** Runs the message of a failed turn again. */
export function RetryButton({ asked }: { asked: Asked | undefined }) {
  const actions = useContext(Context)
  const [isBusy, setIsBusy] = useState(false)
  if (!asked || !actions?.canChange) return null
  async function retry(messageId: string): Promise<void> {
    setIsBusy(true)
    await actions?.resend(messageId)
    setIsBusy(false)
  }
  return (
    <Button size="small" isBusy={isBusy} className="text-ink" onClick={() => void retry(asked.messageId)}>
      <Icon name="repeat" size={14} /> {t.chat.retry}
    </Button>
  )
}
