import {
  type ClipboardEvent,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react'
import { IconButton } from '../components/controls.tsx'
import { Icon } from '../components/icon.tsx'
import { PrivateMemorySwitch } from '../memory/private/private-switch.tsx'
import { useIsReached } from '../notices/notices.ts'
import { takeShared } from '../offline/waiting-store.ts'
import { usesLetterKeys } from '../palette/shortcuts.ts'
import { go } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import type { Voice } from '../voice/use-voice.ts'
import { VoiceButton } from '../voice/voice-controls.tsx'
import { AttachmentList, DropArea, longTextAsFile, type Refused, readAttachments } from './attachments.tsx'
import { type Draft, newDraft, useDraft } from './drafts.ts'
import { SuggestionList, useSlashCommands, useSuggestions } from './suggestions.tsx'

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

/** Opens the newest message of the user for editing. False where none can be edited now. */
function editLastMessage(): boolean {
  const button = [...document.querySelectorAll<HTMLElement>('[data-edit-message]:not(:disabled)')].at(-1)
  button?.click()
  return button !== undefined
}

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
  const listId = useId()
  const area = useRef<HTMLTextAreaElement>(null)
  const picker = useRef<HTMLInputElement>(null)
  const [{ text, attachments }, change] = useDraft(draftKey, isBegunHere)
  const setText = (next: string) => change((draft) => ({ ...draft, text: next }))
  /** As it is when files have been read, a moment after they were chosen. */
  const attached = useRef(attachments)
  attached.current = attachments
  const [refused, setRefused] = useState<readonly Refused[]>([])
  const [reading, setReading] = useState(0)
  const isReached = useIsReached() !== false
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

  /** One group of files after the other, so that the limits hold for all of them. */
  const adding = useRef<Promise<unknown>>(Promise.resolve())
  function add(files: readonly File[]): void {
    if (files.length === 0) return
    setReading((count) => count + 1)
    adding.current = adding.current.then(async () => {
      const { read, refused: left } = await readAttachments(files, attached.current)
      attached.current = [...attached.current, ...read]
      change((draft) => ({ ...draft, attachments: [...draft.attachments, ...read] }))
      setRefused(left)
      setReading((count) => count - 1)
    })
  }

  // Another app shared something with the installed page: it is a draft, and the user sends it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each new conversation.
  useEffect(() => {
    if (draftKey !== newDraft || !new URLSearchParams(location.search).has('shared')) return
    takeShared().then(
      (shared) => {
        go('/', { replace: true })
        const texts = shared.map((one) => one.text).filter((one) => one !== '')
        change((draft) => ({ ...draft, text: [draft.text, ...texts].filter((one) => one !== '').join('\n\n') }))
        add(shared.flatMap(({ files }) => files))
      },
      // A browser without a database has no share target either.
      () => undefined,
    )
  }, [draftKey])

  async function submit(): Promise<void> {
    const said = text.trim()
    if (reading > 0 || (said === '' && attachments.length === 0)) return
    suggestions.close()
    change(() => ({ text: '', attachments: [] }))
    setRefused([])
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
    if (event.key === 'ArrowUp' && text === '' && attachments.length === 0 && editLastMessage()) event.preventDefault()
  }

  function onPaste(event: ClipboardEvent): void {
    const { files, types } = event.clipboardData
    const long = longTextAsFile(event.clipboardData.getData('text/plain'), attached.current)
    // Office programs put a picture of the text beside the text.
    const isText = types.includes('text/plain') && types.includes('text/html')
    const pasted = long ? [long] : isText ? [] : [...files]
    if (pasted.length === 0) return
    event.preventDefault()
    add(pasted)
  }

  return (
    <div className="border-t border-line px-3 pt-3 pb-[max(0.25rem,env(safe-area-inset-bottom))] sm:px-6">
      <div className="relative mx-auto max-w-3xl">
        <SuggestionList id={listId} suggestions={suggestions} />
        {commands.view}
        {!isReached && (
          <p role="status" className="px-1 pb-2 text-sm text-warn">
            {t.offline.cannotReach}
          </p>
        )}
        <DropArea onFiles={add} />
        <div className="rounded-2xl border border-line bg-raised shadow-sm focus-within:border-accent">
          <AttachmentList
            attachments={attachments}
            refused={refused}
            isReading={reading > 0}
            onRemove={(index) => change((draft) => ({ ...draft, attachments: draft.attachments.toSpliced(index, 1) }))}
            onDismiss={() => setRefused([])}
          />
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
                add([...(event.target.files ?? [])])
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
              onChange={(event) => {
                setText(event.target.value)
                suggestions.onSelect()
              }}
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
              disabled={reading > 0 || (text.trim() === '' && attachments.length === 0)}
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
