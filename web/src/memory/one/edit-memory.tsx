import { type FormEvent, useEffect, useState } from 'react'
import type { MemoryEditRequest, MemoryReply } from '../../../../src/protocol/memory-api.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { SelectField, TextArea, TextField } from '../../components/field.tsx'
import { useCorrections } from '../use-corrections.ts'
import { tierChoices } from '../words.ts'
import { editOf, formOf } from './memory-form.ts'

export function EditMemory(props: { memory: MemoryReply; isOpen: boolean; onClose(): void; onChanged(): void }) {
  const { memory, isOpen, onClose, onChanged } = props
  const { edit } = useCorrections()
  const [form, setForm] = useState(() => formOf(memory))
  const [isBusy, setIsBusy] = useState(false)
  const set = (part: Partial<typeof form>) => setForm((before) => ({ ...before, ...part }))

  // biome-ignore lint/correctness/useExhaustiveDependencies: every opening begins with what is stored.
  useEffect(() => setForm(formOf(memory)), [isOpen])

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    const changes: MemoryEditRequest = editOf(memory, form)
    if (Object.keys(changes).length === 0) return onClose()
    setIsBusy(true)
    if (await edit(memory.id, changes, onChanged)) {
      onChanged()
      onClose()
    }
    setIsBusy(false)
  }

  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="Edit"
      description="What it was before can be brought back for 30 days."
    >
      <form className="space-y-3" onSubmit={(event) => void submit(event)}>
        <TextArea
          label="Content"
          rows={5}
          required
          value={form.content}
          hint={hints[memory.kind]}
          onChange={(event) => set({ content: event.target.value })}
        />
        <TextField
          label="Title"
          value={form.title}
          maxLength={200}
          onChange={(event) => set({ title: event.target.value })}
        />
        <div className="grid gap-3 sm:grid-cols-2">
          <TextField
            label="Category"
            value={form.category}
            maxLength={64}
            onChange={(event) => set({ category: event.target.value })}
          />
          <TextField
            label="Tags"
            hint="With commas between them."
            value={form.tags}
            onChange={(event) => set({ tags: event.target.value })}
          />
          <SelectField
            label="Lasts"
            choices={tierChoices.slice(1)}
            value={form.tier}
            onChange={(tier) => set({ tier: tier as MemoryReply['tier'] })}
          />
          <TextField
            label="Priority, %"
            type="number"
            min={0}
            max={100}
            value={form.priority}
            onChange={(event) => set({ priority: event.target.value })}
          />
        </div>
        <Button type="submit" kind="main" isBusy={isBusy} disabled={form.content.trim() === ''}>
          Save
        </Button>
      </form>
    </Dialog>
  )
}

const hints: Partial<Record<MemoryReply['kind'], string>> = {
  fact: 'Of a fact, only the value behind “is” can change here. To say that it is no longer so, supersede it.',
  commitment: 'Of a commitment, what is owed can change here.',
}
