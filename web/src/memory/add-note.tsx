import { type FormEvent, useState } from 'react'
import type { AddedMemoryReply, MemoryRequest } from '../../../src/protocol/memory-api.ts'
import { ask } from '../api/ask.ts'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { TextArea, TextField } from '../components/field.tsx'
import { Icon } from '../components/icon.tsx'
import { useToasts } from '../components/toast.tsx'
import { go } from '../shell/router.ts'

export function AddNote() {
  const toasts = useToasts()
  const [isOpen, setIsOpen] = useState(false)
  const [content, setContent] = useState('')
  const [title, setTitle] = useState('')

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    const body: MemoryRequest = { content, ...(title.trim() && { title: title.trim() }) }
    try {
      const { memory, is_new } = await ask<AddedMemoryReply>('/memories', { body })
      toasts.done(is_new ? 'Remembered.' : 'It was known so already.')
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
        <Icon name="plus" size={16} /> Remember something
      </Button>
      <Dialog isOpen={isOpen} onClose={() => setIsOpen(false)} title="Remember something">
        <form className="space-y-3" onSubmit={(event) => void submit(event)}>
          <TextArea
            label="What to remember"
            rows={4}
            required
            value={content}
            onChange={(event) => setContent(event.target.value)}
          />
          <TextField
            label="Title"
            hint="May stay empty."
            maxLength={200}
            value={title}
            onChange={(event) => setTitle(event.target.value)}
          />
          <Button type="submit" kind="main" disabled={content.trim() === ''}>
            Remember
          </Button>
        </form>
      </Dialog>
    </>
  )
}
