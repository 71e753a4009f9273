import { type FormEvent, useState } from 'react'
import type { ForgotEverythingReply } from '../../../../src/protocol/memory-api.ts'
import { ask } from '../../api/ask.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { TextField } from '../../components/field.tsx'
import { Section } from '../../components/screen.tsx'
import { useToasts } from '../../components/toast.tsx'

/** For good: the one thing here without an undo, so it has to be typed twice. */
export function ForgetEverything({ onForgotten }: { onForgotten(): void }) {
  const toasts = useToasts()
  const [about, setAbout] = useState('')
  const [isAsking, setIsAsking] = useState(false)
  const [typed, setTyped] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const name = about.trim()

  async function forget(event: FormEvent): Promise<void> {
    event.preventDefault()
    setIsBusy(true)
    try {
      const body = { about: name, confirm: true }
      const { memories, events } = await ask<ForgotEverythingReply>('/memories/forget-everything', { body })
      toasts.done(`Forgotten for good. Memories: ${memories}. Places in conversations: ${events}.`)
      setAbout('')
      setIsAsking(false)
      onForgotten()
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <Section title="Forget everything about something">
      <p className="mb-2 max-w-xl text-sm text-soft">
        Takes a name or a word out of all memories and all conversations, for good. There is no undo.
      </p>
      <div className="flex flex-wrap items-end gap-2">
        <TextField
          label="About"
          className="min-w-52 flex-1"
          maxLength={200}
          value={about}
          onChange={(event) => setAbout(event.target.value)}
        />
        <Button
          kind="danger"
          disabled={name === ''}
          onClick={() => {
            setTyped('')
            setIsAsking(true)
          }}
        >
          Forget everything about it
        </Button>
      </div>
      <Dialog
        isOpen={isAsking}
        onClose={() => setIsAsking(false)}
        title="Forget it for good?"
        description="It goes from memories and from conversations, and nothing can bring it back."
      >
        <form className="space-y-3" onSubmit={(event) => void forget(event)}>
          <TextField
            label={`To go on, type ${name}`}
            autoComplete="off"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
          <Button type="submit" kind="danger" isBusy={isBusy} disabled={typed.trim() !== name}>
            Forget everything about {name}
          </Button>
        </form>
      </Dialog>
    </Section>
  )
}
