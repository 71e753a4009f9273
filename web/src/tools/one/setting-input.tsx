import type { Json } from '../../../../src/protocol/json.ts'
import type { ToolFieldReply } from '../../../../src/protocol/tool-api.ts'
import { Button } from '../../components/button.tsx'
import { SelectField, TextField } from '../../components/field.tsx'
import { settingKind, shownSetting } from './settings-form.ts'

const yesOrNo = [
  { value: 'true', label: 'yes' },
  { value: 'false', label: 'no' },
]

export function SettingInput(props: {
  field: ToolFieldReply
  /** Undefined where nothing is set. */
  current: Json | undefined
  typed: string | undefined
  onType(text: string): void
  onUnset(): void
}) {
  const { field, current, typed, onType, onUnset } = props
  const kind = settingKind(field)
  const isSet = current !== undefined
  const isDefault = JSON.stringify(current) === JSON.stringify(field.default)
  const label = field.is_required && !isSet ? `${field.key} (needed)` : field.key
  const value = typed ?? shownSetting(field, current)
  return (
    <div className="flex items-start gap-2">
      {kind === 'boolean' ? (
        <SelectField
          className="flex-1"
          label={label}
          hint={field.description}
          choices={yesOrNo}
          value={value}
          onChange={onType}
        />
      ) : (
        <TextField
          className="flex-1"
          label={label}
          hint={field.description}
          type={kind === 'secret' ? 'password' : 'text'}
          inputMode={kind === 'number' ? 'decimal' : undefined}
          autoComplete={kind === 'secret' ? 'new-password' : 'off'}
          placeholder={kind === 'secret' && isSet ? 'It is set. Type another to replace it.' : ''}
          value={value}
          onChange={(event) => onType(event.target.value)}
        />
      )}
      {isSet && !isDefault && (
        <Button kind="quiet" className="mt-6" onClick={onUnset} aria-label={`Take ${field.key} away`}>
          Take away
        </Button>
      )}
    </div>
  )
}
