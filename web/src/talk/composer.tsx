import { type ClipboardEvent, type DragEvent, type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import type { Attachment } from '../../../src/protocol/api.ts'
import { IconButton } from '../components/button.tsx'
import { classes } from '../components/classes.ts'
import { Icon } from '../components/icon.tsx'
import { useToasts } from '../components/toast.tsx'
import { PrivateMemorySwitch } from '../private-memory/private-memory-switch.tsx'
import type { Voice } from '../voice/use-voice.ts'
import { VoiceButtons } from '../voice/voice-buttons.tsx'
import { readAttachments } from './attachments.ts'
import { SuggestionList } from './suggestion-list.tsx'
import { useSlashCommands } from './use-slash-commands.tsx'
import { useSuggestions } from './use-suggestions.ts'

export interface Draft {
  text: string
  attachments: Attachment[]
}

interface ComposerProps {
  /** What was typed is kept under this name until it is sent, also over a reload. */
  draftKey: string
  sessionId: string | null
  isWorking: boolean
  voice: Voice
  onSend(draft: Draft): Promise<boolean>
  onStop(): void
}

export function Composer({ draftKey, sessionId, isWorking, voice, onSend, onStop }: ComposerProps) {
  const toasts = useToasts()
  const listId = useId()
  const area = useRef<HTMLTextAreaElement>(null)
  const picker = useRef<HTMLInputElement>(null)
  const [text, setText] = useStoredDraft(draftKey)
  const [attachments, setAttachments] = useState<Attachment[]>([])
  const [isOver, setIsOver] = useState(false)
  const suggestions = useSuggestions({ text, area, sessionId, onChange: setText })
  const commands = useSlashCommands({ sessionId })

  // biome-ignore lint/correctness/useExhaustiveDependencies: it is as high as what is in it.
  useEffect(() => {
    const element = area.current
    if (!element) return
    element.style.height = 'auto'
    element.style.height = `${Math.min(element.scrollHeight, window.innerHeight * 0.4)}px`
  }, [text])

  async function add(files: Iterable<File>): Promise<void> {
    try {
      const read = await readAttachments(files)
      setAttachments((all) => [...all, ...read].slice(0, 10))
    } catch (error) {
      toasts.failed(error)
    }
  }

  async function submit(): Promise<void> {
    const said = text.trim()
    if (said === '' && attachments.length === 0) return
    suggestions.close()
    setText('')
    if (said.startsWith('/') && !said.startsWith('//')) return commands.run(said)
    const draft = { text: said.startsWith('//') ? said.slice(1) : text, attachments }
    setAttachments([])
    if (await onSend(draft)) return
    // Nothing typed is lost where it could not be sent.
    setText((now) => now || draft.text)
    setAttachments(draft.attachments)
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
    <div className="border-t border-line px-3 pt-3 pb-[max(0.75rem,env(safe-area-inset-bottom))] sm:px-6">
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
                <li key={index} className="flex items-center gap-1 rounded-lg bg-sunken pl-2 text-sm">
                  <span className="max-w-48 truncate">{file.name}</span>
                  <IconButton
                    label={`Leave out ${file.name}`}
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
            <IconButton label="Attach files" onClick={() => picker.current?.click()}>
              <Icon name="attach" />
            </IconButton>
            <input
              ref={picker}
              type="file"
              multiple
              className="hidden"
              aria-label="Files"
              onChange={(event) => {
                void add(event.target.files ?? [])
                event.target.value = ''
              }}
            />
            <PrivateMemorySwitch />
            <textarea
              ref={area}
              aria-label="Message"
              placeholder="Say something …"
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
            <VoiceButtons voice={voice} />
            {isWorking ? (
              <IconButton label="Stop" className="bg-sunken text-ink" onClick={onStop}>
                <Icon name="stop" />
              </IconButton>
            ) : null}
            <IconButton
              label="Send"
              kind="main"
              disabled={text.trim() === '' && attachments.length === 0}
              onClick={() => void submit()}
            >
              <Icon name="arrow_up" />
            </IconButton>
          </div>
        </div>
      </div>
    </div>
  )
}

function useStoredDraft(key: string) {
  const name = `familiar.draft.${key}`
  const [text, setText] = useState(() => sessionStorage.getItem(name) ?? '')
  useEffect(() => {
    if (text === '') sessionStorage.removeItem(name)
    else sessionStorage.setItem(name, text)
  }, [name, text])
  return [text, setText] as const
}
