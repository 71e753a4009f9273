import { type FormEvent, useCallback, useState } from 'react'
import type { FactRequest, MemoryEditRequest, WrittenFactReply } from '../../../src/protocol/memory.ts'
import { ApiError, call } from '../api/call.ts'
import { eventsOf } from '../api/follow.ts'
import { Button } from '../components/controls.tsx'
import { useToasts } from '../components/feedback.tsx'
import { Dialog, TextArea, TextField } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { go } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'

/**
 * Changes to memories, each with an undo in the toast. They resolve to whether the change was made; `onUndone` is called after an
 * undo.
 */
export function useCorrections() {
  const toasts = useToasts()

  const undo = useCallback(
    async (changeId: string): Promise<boolean> => {
      try {
        await call('memories.undo', { change: changeId })
        toasts.done(t.memory.changeUndone)
        return true
      } catch (error) {
        toasts.failed(error)
        return false
      }
    },
    [toasts],
  )

  const tell = useCallback(
    (text: string, changeId: string | null, onUndone: () => void) => {
      const run = async (id: string) => {
        if (await undo(id)) onUndone()
      }
      toasts.done(text, changeId === null ? undefined : { label: t.common.undo, run: () => void run(changeId) })
    },
    [toasts, undo],
  )

  const told = useCallback(
    async (text: string, change: () => Promise<{ change_id: string }>, onUndone: () => void): Promise<boolean> => {
      try {
        const { change_id } = await change()
        tell(text, change_id, onUndone)
        return true
      } catch (error) {
        toasts.failed(error)
        return false
      }
    },
    [toasts, tell],
  )

  /** Undefined when it was refused. The user sees a message. */
  const stateFact = useCallback(
    async (fact: FactRequest, onUndone: () => void): Promise<WrittenFactReply | undefined> => {
      try {
        const written = await call('facts.state', fact)
        tell(factWords(written), written.change_id, onUndone)
        return written
      } catch (error) {
        toasts.failed(error)
        return undefined
      }
    },
    [toasts, tell],
  )

  const forget = useCallback(
    (id: string, onUndone: () => void) =>
      told(t.memory.forgottenUndo30Days, () => call('memories.forget', { id }), onUndone),
    [told],
  )
  const keep = useCallback(
    (id: string, onUndone: () => void) => told(t.memory.accepted, () => call('memories.keep', { id }), onUndone),
    [told],
  )
  const edit = useCallback(
    (id: string, changes: MemoryEditRequest, onUndone: () => void) =>
      told(t.memory.saved, () => call('memories.edit', { id, ...changes }), onUndone),
    [told],
  )
  return { forget, keep, edit, stateFact, undo }
}

function factWords({ outcome, old }: WrittenFactReply): string {
  if (outcome === 'confirmed') return t.memory.confirmed
  return old ? t.memory.savedPreviousValue(old.value) : t.memory.saved
}

export function AddNote() {
  const toasts = useToasts()
  const [isOpen, setIsOpen] = useState(false)
  const [content, setContent] = useState('')
  const [title, setTitle] = useState('')

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    try {
      const { memory, is_new } = await call('memories.add', { content, title: title.trim() || undefined })
      toasts.done(is_new ? t.memory.savedToMemory : t.memory.alreadyKnown)
      setIsOpen(false)
      setContent('')
      setTitle('')
      go(`/memory/${encodeURIComponent(memory.id)}`)
    } catch (error) {
      toasts.failed(error)
    }
  }

  return (
    <>
      <Button onClick={() => setIsOpen(true)}>
        <Icon name="plus" size={16} /> {t.memory.addMemory}
      </Button>
      <Dialog isOpen={isOpen} onClose={() => setIsOpen(false)} title={t.memory.addMemory}>
        <form className="space-y-3" onSubmit={(event) => void submit(event)}>
          <TextArea
            label={t.common.memory}
            rows={4}
            required
            value={content}
            onChange={(event) => setContent(event.target.value)}
          />
          <TextField
            label={t.common.title}
            hint={t.memory.optional}
            maxLength={200}
            value={title}
            onChange={(event) => setTitle(event.target.value)}
          />
          <Button type="submit" kind="main" disabled={content.trim() === ''}>
            {t.common.save}
          </Button>
        </form>
      </Dialog>
    </>
  )
}

/** A long request: `onProgress` reports progress, the promise resolves to the result. */
export async function withProgress<Progress, Result>(
  request: Promise<Response>,
  onProgress: (progress: Progress) => void,
): Promise<Result> {
  for await (const { name, data } of eventsOf(await request)) {
    if (name === 'progress') onProgress(data as Progress)
    if (name === 'result') return data as Result
    if (name === 'error') throw failureOf(data)
  }
  throw new ApiError(t.memory.connectionLostBeforeFinished, { code: 'unreached', status: 0 })
}

function failureOf(data: unknown): ApiError {
  const { error, code } = data as { error?: unknown; code?: unknown }
  return new ApiError(typeof error === 'string' ? error : t.memory.failedTryAgain, {
    code: typeof code === 'string' ? code : 'unknown',
    status: 0,
  })
}
