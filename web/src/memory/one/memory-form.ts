import type { MemoryEditRequest, MemoryReply } from '../../../../src/protocol/memory-api.ts'

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

/** Only what was changed: the rest stays as it is, whoever changes it meanwhile. */
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
