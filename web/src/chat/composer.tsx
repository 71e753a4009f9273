import {
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react'
import type { Attachment } from '../../../src/protocol/api.ts'
import { classes, IconButton } from '../components/controls.tsx'
import { useToasts } from '../components/feedback.tsx'
import { Icon } from '../components/icon.tsx'
import { PrivateMemorySwitch } from '../memory/private/private-switch.tsx'
import { usesLetterKeys } from '../palette/shortcuts.ts'
import { formatList } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import type { Voice } from '../voice/use-voice.ts'
import { VoiceButton } from '../voice/voice-controls.tsx'
import { SuggestionList, useSlashCommands, useSuggestions } from './suggestions.tsx'

/** In bytes. */
const maxFileSize = 20_000_000
/** Shown before they are sent. */
const picture = /^image\/(?:png|jpeg|gif|webp)$/
/** Per message; the server refuses more. */
const maxFiles = 10

const namesOf = (files: readonly File[]) => formatList(files.map(({ name }) => name))

async function readAttachments(files: Iterable<File>): Promise<Attachment[]> {
  return Promise.all(
    [...files].map(async (file) => ({
      name: file.name.replaceAll(/[/\\\p{Cc}]/gu, '_') || 'file',
      media_type: /^[\w.+-]+\/[\w.+-]+$/.test(file.type) ? file.type : 'application/octet-stream',
      data: await toBase64(file),
    })),
  )
}

function toBase64(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''))
    reader.onerror = () => reject(reader.error ?? new Error(t.composer.fileCouldReadTry))
    reader.readAsDataURL(file)
  })
}

const composer = 'textarea[data-composer]'
const otherFields = 'input, textarea, select, [contenteditable], iframe'
const layers = '[role="dialog"], [role="alertdialog"], [role="menu"]'

/** Focusing a field on a touch screen opens the keyboard over half of the page. */
const isTouch = () => matchMedia('(pointer: coarse)').matches

/** The user is in another field or dialog, or has selected text: the focus stays where it is. */
function isBusyElsewhere(): boolean {
  if (document.querySelector(layers)) return true
  const { activeElement } = document
  if (activeElement?.matches(otherFields) && !activeElement.matches(composer)) return true
  const selection = document.getSelection()
  return selection !== null && !selection.isCollapsed && selection.toString().trim() !== ''
}

/** Moves the focus to the message field, unless that would disturb the user. True if the field has it. */
export function focusComposer(): boolean {
  const field = document.querySelector<HTMLTextAreaElement>(composer)
  if (!field || isTouch() || isBusyElsewhere()) return false
  field.focus({ preventScroll: true })
  return true
}

/** The field has the focus when a conversation is opened, and letters typed with no field focused go to it. */
function useComposerFocus(area: RefObject<HTMLTextAreaElement | null>, conversation: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: each time another conversation is shown.
  useEffect(() => {
    focusComposer()
  }, [conversation])

  useEffect(() => {
    function onKeyDown(event: globalThis.KeyboardEvent): void {
      const isCharacter = [...event.key].length === 1 && event.key !== ' '
      const isShortcut = (event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState('AltGraph')
      if (!isCharacter || isShortcut || event.defaultPrevented || event.isComposing) return
      // With shortcuts of one letter, `/` goes to the field.
      if (usesLetterKeys() || document.activeElement === area.current || isBusyElsewhere()) return
      // The browser puts the character into the field that has the focus when this returns.
      area.current?.focus({ preventScroll: true })
    }
    window.addEventListener('keydown', onKeyDown)
    return () => window.removeEventListener('keydown', onKeyDown)
  }, [area])
}

const insertions = new Set<(text: string) => void>()

/** Puts text into the message field, after what is typed there, and moves the focus to it. */
export function insertIntoComposer(text: string): void {
  for (const insert of insertions) insert(text)
}

export interface Draft {
  text: string
  attachments: Attachment[]
}

/** The draft of a conversation that has no session yet. */
export const newDraft = 'new'

interface ComposerProps {
  /** Text that was typed is kept under this name until it is sent, also over a reload. */
  draftKey: string
  /** The session was a new conversation of this page a moment ago. */
  isBegunHere: boolean
  sessionId: string | null
  isWorking: boolean
  voice: Voice
  /** Below the field. */
  options: ReactNode
  onSend(draft: Draft): Promise<boolean>
  onStop(): void
}

export function Composer(props: ComposerProps) {
  const { draftKey, isBegunHere, sessionId, isWorking, voice, options, onSend, onStop } = props
  const toasts = useToasts()
  const listId = useId()
  const area = useRef<HTMLTextAreaElement>(null)
  const picker = useRef<HTMLInputElement>(null)
  const [{ text, attachments }, change] = useDraft(draftKey, isBegunHere)
  const setText = (next: string) => change((draft) => ({ ...draft, text: next }))
  const setAttachments = (next: (all: Attachment[]) => Attachment[]) =>
    change((draft) => ({ ...draft, attachments: next(draft.attachments) }))
  const [isOver, setIsOver] = useState(false)
  const suggestions = useSuggestions({ text, area, sessionId, onChange: setText })
  const commands = useSlashCommands({ sessionId })
  useComposerFocus(area, draftKey)

  // biome-ignore lint/correctness/useExhaustiveDependencies: one listener for the life of the field.
  useEffect(() => {
    function insert(quoted: string): void {
      change((draft) => ({ ...draft, text: draft.text === '' ? quoted : `${draft.text.trimEnd()}\n\n${quoted}` }))
      requestAnimationFrame(() => {
        const { current: field } = area
        field?.focus({ preventScroll: true })
        field?.setSelectionRange(field.value.length, field.value.length)
      })
    }
    insertions.add(insert)
    return () => void insertions.delete(insert)
  }, [])

  // biome-ignore lint/correctness/useExhaustiveDependencies: its height follows its content.
  useEffect(() => {
    const element = area.current
    if (!element) return
    element.style.height = 'auto'
    element.style.height = `${Math.min(element.scrollHeight, window.innerHeight * 0.4)}px`
  }, [text])

  async function add(files: Iterable<File>): Promise<void> {
    const [fitting = [], tooLarge = []] = [false, true].map((isLarge) =>
      [...files].filter(({ size }) => size > maxFileSize === isLarge),
    )
    if (tooLarge.length > 0) toasts.failed(t.composer.largerThanLimit20(namesOf(tooLarge)))
    const room = Math.max(0, maxFiles - attachments.length)
    if (fitting.length > room) toasts.failed(t.composer.tooManyFiles(maxFiles, namesOf(fitting.slice(room))))
    try {
      const read = await readAttachments(fitting.slice(0, room))
      setAttachments((all) => [...all, ...read])
    } catch (error) {
      toasts.failed(error)
    }
  }

  async function submit(): Promise<void> {
    const said = text.trim()
    if (said === '' && attachments.length === 0) return
    suggestions.close()
    change(() => ({ text: '', attachments: [] }))
    focusComposer()
    if (said.startsWith('/') && !said.startsWith('//')) return commands.run(said)
    const draft = { text: said.startsWith('//') ? said.slice(1) : text, attachments }
    if (await onSend(draft)) return
    // Put the text back when sending fails.
    change((now) => ({
      text: now.text === '' ? draft.text : `${draft.text}\n${now.text}`,
      attachments: [...draft.attachments, ...now.attachments],
    }))
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (suggestions.onKeyDown(event)) return
    if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault()
      void submit()
    }
    if (event.key === 'Escape' && isWorking) onStop()
  }

  function onPaste(event: ClipboardEvent): void {
    if (event.clipboardData.files.length === 0) return
    event.preventDefault()
    void add(event.clipboardData.files)
  }

  function onDrop(event: DragEvent): void {
    event.preventDefault()
    setIsOver(false)
    void add(event.dataTransfer.files)
  }

  return (
    <div className="border-t border-line px-3 pt-3 pb-[max(0.25rem,env(safe-area-inset-bottom))] sm:px-6">
      <div className="relative mx-auto max-w-3xl">
        <SuggestionList id={listId} suggestions={suggestions} />
        {commands.view}
        {/* biome-ignore lint/a11y/noStaticElementInteractions: files are also chosen by the button. */}
        <div
          onDragOver={(event) => {
            event.preventDefault()
            setIsOver(true)
          }}
          onDragLeave={() => setIsOver(false)}
          onDrop={onDrop}
          className={classes(
            'rounded-2xl border bg-raised shadow-sm focus-within:border-accent',
            isOver ? 'border-accent' : 'border-line',
          )}
        >
          {attachments.length > 0 && (
            <ul className="flex flex-wrap gap-1.5 px-3 pt-2.5">
              {attachments.map((file, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: two files may have the same name.
                <li key={index} className="flex items-center gap-1.5 rounded-lg bg-sunken ps-2 text-sm">
                  {picture.test(file.media_type) && (
                    <img
                      src={`data:${file.media_type};base64,${file.data}`}
                      alt=""
                      className="my-1 -ms-1 size-12 rounded-md object-cover"
                    />
                  )}
                  <span dir="auto" className="max-w-48 truncate">
                    {file.name}
                  </span>
                  <IconButton
                    label={t.composer.remove(file.name)}
                    className="size-7"
                    onClick={() => setAttachments((all) => all.toSpliced(index, 1))}
                  >
                    <Icon name="close" size={14} />
                  </IconButton>
                </li>
              ))}
            </ul>
          )}
          <div className="flex items-end gap-1 p-1.5">
            <IconButton label={t.composer.attachFiles} onClick={() => picker.current?.click()}>
              <Icon name="attach" />
            </IconButton>
            <input
              ref={picker}
              type="file"
              multiple
              className="hidden"
              aria-label={t.common.files}
              onChange={(event) => {
                void add(event.target.files ?? [])
                event.target.value = ''
              }}
            />
            <PrivateMemorySwitch />
            <textarea
              ref={area}
              data-composer
              dir="auto"
              aria-label={t.common.message}
              placeholder={t.composer.messageFamiliar}
              rows={1}
              value={text}
              onChange={(event) => setText(event.target.value)}
              onSelect={suggestions.onSelect}
              onKeyDown={onKeyDown}
              onPaste={onPaste}
              role="combobox"
              aria-expanded={suggestions.isOpen}
              aria-controls={listId}
              aria-autocomplete="list"
              aria-activedescendant={suggestions.isOpen ? `${listId}-${suggestions.active}` : undefined}
              className="max-h-[40vh] min-h-9 flex-1 resize-none bg-transparent px-1 py-1.5 outline-none placeholder:whitespace-nowrap placeholder:text-soft"
            />
            {/* When the button disappears, the field takes its place: a second click must not press another button. */}
            {isWorking && (
              <IconButton
                label={t.common.stop}
                className="bg-sunken text-ink"
                onClick={() => {
                  onStop()
                  focusComposer()
                }}
              >
                <Icon name="stop" />
              </IconButton>
            )}
            <VoiceButton voice={voice} />
            <IconButton
              label={t.common.send}
              kind="main"
              disabled={text.trim() === '' && attachments.length === 0}
              onClick={() => void submit()}
            >
              <Icon name="arrow_up" />
            </IconButton>
          </div>
        </div>
        {options}
      </div>
    </div>
  )
}

/** The draft of the conversation that is shown. A new conversation keeps its draft when it becomes a session. */
function useDraft(key: string, isBegunHere: boolean) {
  const [state, setState] = useState(() => ({ key, draft: storedDraft(key) }))
  const isCarried = state.key === newDraft && isBegunHere
  const draft = state.key === key || isCarried ? state.draft : storedDraft(key)
  if (state.key !== key) setState({ key, draft })

  useEffect(() => {
    if (isBegunHere) sessionStorage.removeItem(storageName(newDraft))
    if (draft.text === '') sessionStorage.removeItem(storageName(key))
    else sessionStorage.setItem(storageName(key), draft.text)
  }, [key, draft.text, isBegunHere])

  const change = (next: (draft: Draft) => Draft) => setState((now) => ({ ...now, draft: next(now.draft) }))
  return [draft, change] as const
}

const storageName = (key: string) => `familiar.draft.${key}`

function storedDraft(key: string): Draft {
  return { text: sessionStorage.getItem(storageName(key)) ?? '', attachments: [] }
}
