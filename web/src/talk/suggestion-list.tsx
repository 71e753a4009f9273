import { classes } from '../components/classes.ts'
import type { Suggestions } from './use-suggestions.ts'

export function SuggestionList({ id, suggestions }: { id: string; suggestions: Suggestions }) {
  const { isOpen, entries, active, choose } = suggestions
  return (
    <div
      id={id}
      role="listbox"
      aria-label="Suggestions"
      hidden={!isOpen}
      className="absolute inset-x-0 bottom-full z-10 mb-2 max-h-72 overflow-y-auto rounded-xl border border-line bg-raised p-1 shadow-lg"
    >
      {entries.map(({ text, label, detail }, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field that has the focus.
        <div
          key={`${text}-${label}`}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          onClick={() => choose(index)}
          ref={(element) => {
            if (index === active && isOpen) element?.scrollIntoView({ block: 'nearest' })
          }}
          className={classes('flex gap-3 rounded-lg px-2.5 py-1.5 text-sm', index === active && 'bg-sunken')}
        >
          <span className="shrink-0 font-mono">{label}</span>
          {detail && <span className="min-w-0 truncate text-soft">{detail}</span>}
        </div>
      ))}
    </div>
  )
}
