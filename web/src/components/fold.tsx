import { type ReactNode, useId, useState } from 'react'
import { classes } from './classes.ts'
import { Icon, type IconName } from './icon.tsx'

/** One line that unfolds. What is inside is drawn only when it is looked at. */
export function Fold(props: {
  icon: IconName
  title: string
  detail?: ReactNode
  /** Something is happening in it. */
  isActive?: boolean
  isBad?: boolean
  startsOpen?: boolean
  /** Open while something happens, unless the user has closed it. */
  opensWhileActive?: boolean
  children: ReactNode
}) {
  const { icon, title, detail, isActive = false, isBad = false, children } = props
  const { startsOpen = false, opensWhileActive = false } = props
  const [chosen, setChosen] = useState<boolean>()
  const isOpen = chosen ?? (startsOpen || (opensWhileActive && isActive))
  const id = useId()
  return (
    <div className={classes('rounded-xl border', isBad ? 'border-bad' : isOpen ? 'border-line' : 'border-transparent')}>
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setChosen(!isOpen)}
        className="flex min-h-9 w-full items-center gap-2 rounded-xl px-2 text-start text-sm hover:bg-sunken"
      >
        <span className={classes(isBad ? 'text-bad' : 'text-soft', isActive && 'breathing')}>
          <Icon name={icon} size={16} />
        </span>
        <span className="shrink-0 font-medium">{title}</span>
        <span className="min-w-0 flex-1 truncate text-soft">{detail}</span>
        <span className={classes('text-soft transition-transform', isOpen && 'rotate-90')}>
          <Icon name="chevron_right" size={14} />
        </span>
      </button>
      {isOpen && (
        <div id={id} className="border-t border-line px-3 py-2.5">
          {children}
        </div>
      )}
    </div>
  )
}
