import type { ReactNode } from 'react'
import { classes } from '../components/classes.ts'
import { Icon } from '../components/icon.tsx'
import type { FoundEntry } from './palette-entry.ts'

interface PaletteListProps {
  id: string
  entries: readonly FoundEntry[]
  active: number
  onChoose(index: number): void
}

export function PaletteList({ id, entries, active, onChoose }: PaletteListProps) {
  return (
    <div id={id} role="listbox" aria-label="What fits">
      {entries.map((entry, index) => {
        const { group, label, detail, icon, places } = entry
        const isActive = index === active
        return (
          <div key={entry.id} role="presentation">
            {entries[index - 1]?.group !== group && (
              <p role="presentation" className="px-2 pt-2 pb-1 text-xs font-medium text-soft">
                {group}
              </p>
            )}
            {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field that has the focus. */}
            <div
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={isActive}
              onClick={() => onChoose(index)}
              ref={(element) => {
                if (isActive) element?.scrollIntoView({ block: 'nearest' })
              }}
              className={classes(
                'flex min-h-10 cursor-pointer items-center gap-2.5 rounded-lg px-2 text-sm hover:bg-sunken',
                isActive && 'bg-accent-soft',
              )}
            >
              <span className="text-soft">
                <Icon name={icon} size={16} />
              </span>
              <span className={classes('truncate', detail && 'max-w-[60%] shrink-0')}>{marked(label, places)}</span>
              {detail && <span className="min-w-0 flex-1 truncate text-soft">{detail}</span>}
            </div>
          </div>
        )
      })}
    </div>
  )
}

/** The characters that fit stand out. */
function marked(label: string, places: readonly number[]): ReactNode {
  if (places.length === 0) return label
  const fits = new Set(places)
  // biome-ignore lint/suspicious/noArrayIndexKey: characters have no other name.
  return [...label].map((character, index) => (fits.has(index) ? <b key={index}>{character}</b> : character))
}
