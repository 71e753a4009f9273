import { type FormEvent, useEffect, useState } from 'react'
import type { MemoryEditRequest, MemoryReply } from '../../../src/protocol/memory.ts'
import { Button } from '../components/controls.tsx'
import { Dialog, SelectField, TextArea, TextField } from '../components/forms.tsx'
import { t } from '../strings/strings.ts'
import { useCorrections } from './corrections.tsx'
import { retentionChoices } from './memory-list.tsx'

interface MemoryForm {
  content: string
  title: string
  category: string
  tags: string
  tier: MemoryReply['tier']
  /** In percent. */
  priority: string
}

export function formOf({ content, title, category, tags, tier, priority }: MemoryReply): MemoryForm {
  return {
    content,
    title: title ?? '',
    category: category ?? '',
    tags: tags.join(', '),
    tier,
    priority: String(Math.round(priority * 100)),
  }
}

/** Only changed fields are sent, so parallel edits of other fields are kept. */
export function editOf(memory: MemoryReply, form: MemoryForm): MemoryEditRequest {
  const before = formOf(memory)
  const edit: MemoryEditRequest = {}
  if (form.content !== before.content) edit.content = form.content
  if (form.title !== before.title) edit.title = form.title.trim() || null
  if (form.category !== before.category) edit.category = form.category.trim() || null
  if (form.tags !== before.tags) edit.tags = tagsOf(form.tags)
  if (form.tier !== before.tier) edit.tier = form.tier
  const percent = Number.parseFloat(form.priority)
  if (form.priority !== before.priority && !Number.isNaN(percent)) {
    edit.priority = Math.min(100, Math.max(0, percent)) / 100
  }
  return edit
}

function tagsOf(text: string): string[] {
  return [...new Set(text.split(',').flatMap((tag) => tag.trim() || []))]
}

export function EditMemory(props: { memory: MemoryReply; isOpen: boolean; onClose(): void; onChanged(): void }) {
  const { memory, isOpen, onClose, onChanged } = props
  const { edit } = useCorrections()
  const [form, setForm] = useState(() => formOf(memory))
  const [isBusy, setIsBusy] = useState(false)
  const set = (part: Partial<typeof form>) => setForm((before) => ({ ...before, ...part }))

  // biome-ignore lint/correctness/useExhaustiveDependencies: each opening starts with the stored values.
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
    <Dialog isOpen={isOpen} onClose={onClose} title={t.common.edit} description={t.memory.undoChange30Days}>
      <form className="space-y-3" onSubmit={(event) => void submit(event)}>
        <TextArea
          label={t.memory.content}
          rows={5}
          required
          value={form.content}
          hint={hints[memory.kind]}
          onChange={(event) => set({ content: event.target.value })}
        />
        <TextField
          label={t.common.title}
          value={form.title}
          maxLength={200}
          onChange={(event) => set({ title: event.target.value })}
        />
        <div className="grid gap-3 sm:grid-cols-2">
          <TextField
            label={t.common.category}
            value={form.category}
            maxLength={64}
            onChange={(event) => set({ category: event.target.value })}
          />
          <TextField
            label={t.memory.tags}
            hint={t.memory.separatedByCommas}
            value={form.tags}
            onChange={(event) => set({ tags: event.target.value })}
          />
          <SelectField
            label={t.memory.retention}
            choices={retentionChoices.slice(1)}
            value={form.tier}
            onChange={(tier) => set({ tier: tier as MemoryReply['tier'] })}
          />
          <TextField
            label={t.memory.priority}
            type="number"
            min={0}
            max={100}
            value={form.priority}
            onChange={(event) => set({ priority: event.target.value })}
          />
        </div>
        <Button type="submit" kind="main" isBusy={isBusy} disabled={form.content.trim() === ''}>
          {t.common.save}
        </Button>
      </form>
    </Dialog>
  )
}

const hints: Partial<Record<MemoryReply['kind'], string>> = {
  fact: t.memory.onlyValueFactEdited,
  commitment: t.memory.onlyTextCommitmentEdited,
}
