import { useEffect, useState } from 'react'
import type { Attachment } from '../../../src/protocol/api.ts'
import { forgetDraftFiles, readDraftFiles, writeDraftFiles } from '../offline/waiting-store.ts'

/** The text and files of each conversation that are not sent yet. They are kept over a reload, for this tab alone. */

export interface Draft {
  text: string
  attachments: Attachment[]
}

/** The draft of a conversation that has no session yet. */
export const newDraft = 'new'

const textName = (key: string) => `familiar.draft.${key}`
const files = new Map<string, Attachment[]>()
const loaded = new Set<string>()
/** Sessions that took the draft of the new conversation that they were. */
const carried = new Set<string>()

function tabId(): string {
  const name = 'familiar.tab'
  const known = sessionStorage.getItem(name)
  if (known !== null) return known
  const made = crypto.randomUUID()
  sessionStorage.setItem(name, made)
  return made
}

function storedDraft(key: string): Draft {
  return { text: sessionStorage.getItem(textName(key)) ?? '', attachments: files.get(key) ?? [] }
}

function keepText(key: string, text: string): void {
  if (text === '') sessionStorage.removeItem(textName(key))
  // A text that is too long for the storage is lost by a reload only.
  else
    try {
      sessionStorage.setItem(textName(key), text)
    } catch {
      sessionStorage.removeItem(textName(key))
    }
}

function keepFiles(key: string, attachments: Attachment[]): void {
  if (attachments === (files.get(key) ?? attachments) && (files.has(key) || attachments.length === 0)) return
  files.set(key, attachments)
  const id = `${tabId()} ${key}`
  const kept = attachments.length === 0 ? forgetDraftFiles(id) : writeDraftFiles({ id, attachments, at: Date.now() })
  // Without the browser's database they last until a reload.
  kept.catch(() => undefined)
}

/** The draft of the conversation that is shown. A new conversation keeps its draft when it becomes a session. */
export function useDraft(key: string, isBegunHere: boolean) {
  const [state, setState] = useState(() => ({ key, draft: storedDraft(key) }))
  const isCarried = state.key === newDraft && isBegunHere && !carried.has(key)
  const draft = state.key === key || isCarried ? state.draft : storedDraft(key)
  if (state.key !== key) setState({ key, draft })

  useEffect(() => {
    if (loaded.has(key)) return
    loaded.add(key)
    readDraftFiles(`${tabId()} ${key}`).then(
      (found) => {
        if (found.length === 0) return
        const all = [...found, ...(files.get(key) ?? [])]
        files.set(key, all)
        setState((now) => (now.key === key ? { ...now, draft: { ...now.draft, attachments: all } } : now))
      },
      () => undefined,
    )
  }, [key])

  useEffect(() => {
    if (isBegunHere && !carried.has(key)) {
      carried.add(key)
      keepText(newDraft, '')
      keepFiles(newDraft, [])
    }
    keepText(key, draft.text)
    keepFiles(key, draft.attachments)
  }, [key, draft, isBegunHere])

  const change = (next: (draft: Draft) => Draft) => setState((now) => ({ ...now, draft: next(now.draft) }))
  return [draft, change] as const
}
