import { createContext, useContext, useState } from 'react'
import { Button, classes } from '../components/controls.tsx'
import { Icon } from '../components/icon.tsx'
import { t } from '../strings/strings.ts'
import { focusComposer } from './composer.tsx'
import type { TurnItem } from './conversation.ts'

/** Sends the chosen options as the user's message. False if it was not accepted. */
export type SendChoice = (text: string, answers: string) => Promise<boolean>

export const SendChoiceContext = createContext<SendChoice | undefined>(undefined)

const rowClass = 'flex min-h-11 w-full items-start gap-3 rounded-xl border px-4 py-2.5 text-start transition-colors'

/** The options of a question. An answered one shows what was chosen. */
export function ChoiceList({ choices }: { choices: NonNullable<TurnItem['choices']> }) {
  const send = useContext(SendChoiceContext)
  const [marked, setMarked] = useState<readonly string[]>([])
  const [isBusy, setIsBusy] = useState(false)
  const { id, options, multiple, allowText, chosen } = choices
  const isOpen = chosen === undefined && send !== undefined

  async function give(labels: readonly string[]): Promise<void> {
    setIsBusy(true)
    const isSent = await send?.(labels.join(', '), id)
    setIsBusy(false)
    // The buttons are disabled now, and cannot keep the focus.
    if (isSent) focusComposer()
  }

  function press(label: string): void {
    if (!multiple) return void give([label])
    const others = marked.filter((known) => known !== label)
    const wanted = others.length < marked.length ? others : [...marked, label]
    setMarked(options.flatMap((option) => (wanted.includes(option.label) ? [option.label] : [])))
  }

  return (
    <section aria-label={t.chat.options} className="max-w-xl space-y-2">
      {options.map(({ label, description }) => {
        const isChosen = (chosen ?? marked).includes(label)
        return (
          <button
            key={label}
            type="button"
            aria-pressed={multiple || chosen !== undefined ? isChosen : undefined}
            disabled={!isOpen || isBusy}
            onClick={() => press(label)}
            className={classes(
              rowClass,
              isChosen ? 'border-accent bg-accent-soft' : 'border-line',
              isOpen ? 'hover:border-accent hover:bg-sunken' : !isChosen && 'opacity-60',
            )}
          >
            <span className="min-w-0 flex-1">
              <span className="block font-medium">{label}</span>
              {description && <span className="block text-sm text-soft">{description}</span>}
            </span>
            {isChosen && <Icon name="check" />}
          </button>
        )
      })}
      {isOpen && multiple && (
        <Button kind="main" isBusy={isBusy} disabled={marked.length === 0} onClick={() => void give(marked)}>
          {t.common.send}
        </Button>
      )}
      {isOpen && allowText && <p className="text-sm text-soft">{t.chat.ownAnswer}</p>}
    </section>
  )
}
