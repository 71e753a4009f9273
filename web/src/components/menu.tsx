import { DropdownMenu } from 'radix-ui'
import type { ReactElement } from 'react'
import { classes } from './classes.ts'
import { Icon, type IconName } from './icon.tsx'

export interface MenuItem {
  label: string
  icon?: IconName
  onSelect(): void
  isDangerous?: boolean
  isDisabled?: boolean
}

/** What can be done with a thing, behind one button. */
export function Menu({ trigger, items }: { trigger: ReactElement; items: readonly MenuItem[] }) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={4}
          className="z-50 min-w-44 rounded-xl border border-line bg-raised p-1 shadow-lg"
        >
          {items.map(({ label, icon, onSelect, isDangerous, isDisabled }) => (
            <DropdownMenu.Item
              key={label}
              disabled={isDisabled ?? false}
              onSelect={onSelect}
              className={classes(
                'flex min-h-9 items-center gap-2 rounded-lg px-2.5 text-sm outline-none data-[disabled]:opacity-40 data-[highlighted]:bg-sunken',
                isDangerous && 'text-bad',
              )}
            >
              {icon && <Icon name={icon} size={16} />}
              {label}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}
