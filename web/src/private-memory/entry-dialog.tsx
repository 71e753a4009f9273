import { type FormEvent, useState } from 'react'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { SelectField, TextArea, TextField } from '../components/field.tsx'
import { useToasts } from '../components/toast.tsx'
import { useWho } from '../shell/who.ts'
import {
  type Category,
  categories,
  longestContent,
  longestTitle,
  type PrivateEntry,
  readWords,
} from './private-entry.ts'
import { openPrivateStore } from './private-store.ts'

const priorities = Array.from({ length: 10 }, (_, index) => {
  const value = String(10 - index)
  const meanings: Record<string, string> = { '10': ' (most important)', '5': ' (usual)' }
  return { value, label: `${value}${meanings[value] ?? ''}` }
})

export function EntryDialog({ entry, onClose }: { entry: PrivateEntry | undefined; onClose(): void }) {
  const { name } = useWho()
  const toasts = useToasts()
  const [title, setTitle] = useState(entry?.title ?? '')
  const [content, setContent] = useState(entry?.content ?? '')
  const [category, setCategory] = useState<Category>(entry?.category ?? 'personal')
  const [priority, setPriority] = useState(entry?.priority ?? 5)
  const [problem, setProblem] = useState<string>()

  async function save(event: FormEvent): Promise<void> {
    event.preventDefault()
    const read = readWords({ title, content, category, priority })
    if (!read.ok) return setProblem(read.message)
    const at = new Date().toISOString()
    const saved: PrivateEntry = {
      id: entry?.id ?? crypto.randomUUID(),
      source: entry?.source ?? 'user',
      isShared: entry?.isShared ?? false,
      createdAt: entry?.createdAt ?? at,
      ...read.value,
      updatedAt: at,
    }
    try {
      await (await openPrivateStore(name)).put([saved])
      toasts.done(`Kept in this browser: ${saved.title}`)
      onClose()
    } catch (error) {
      toasts.failed(error)
    }
  }

  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={entry ? 'Edit the entry' : 'New entry'}
      description="It is kept in this browser alone."
    >
      <form className="space-y-3" onSubmit={(event) => void save(event)}>
        <TextField
          label="Title"
          autoFocus
          maxLength={longestTitle}
          value={title}
          onChange={(event) => setTitle(event.target.value)}
        />
        <TextArea
          label="Content"
          rows={7}
          maxLength={longestContent}
          hint="Markdown is understood."
          value={content}
          onChange={(event) => setContent(event.target.value)}
        />
        <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
          <SelectField
            label="Category"
            value={category}
            choices={categories.map((value) => ({ value, label: value }))}
            onChange={(value) => setCategory(value as Category)}
          />
          <SelectField
            label="Priority"
            value={String(priority)}
            choices={priorities}
            onChange={(value) => setPriority(Number(value))}
          />
        </div>
        {problem && (
          <p role="alert" className="text-sm text-bad">
            {problem}
          </p>
        )}
        <Button type="submit" kind="main" disabled={title.trim() === '' || content.trim() === ''}>
          Save
        </Button>
      </form>
    </Dialog>
  )
}
