import { type FormEvent, useState } from 'react'
import type { CapabilityReply, CapabilitySecretReply } from '../../../../src/protocol/capability-api.ts'
import { ask } from '../../api/ask.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { TextField } from '../../components/field.tsx'
import { Icon } from '../../components/icon.tsx'
import { useToasts } from '../../components/toast.tsx'

type Secret = CapabilityReply['permissions']['secrets'][number]

/** What it may do, in a sentence each; and the secrets that it is given, which go in here and never come out. */
export function CapabilityPermissions({ capability, path }: { capability: CapabilityReply; path: string }) {
  const { hosts, secrets, storage } = capability.permissions
  return (
    <ul className="space-y-2 text-sm">
      <Line isAllowed={hosts.length > 0}>
        {hosts.length > 0 ? `It reaches ${hosts.join(', ')}, and nothing else.` : 'It reaches no network.'}
      </Line>
      <Line isAllowed={storage}>{storage ? 'It keeps data between calls.' : 'It keeps nothing between calls.'}</Line>
      {secrets.length === 0 && <Line isAllowed={false}>It is given no secret.</Line>}
      {secrets.map((secret) => (
        <li key={secret.name}>
          <SecretForm secret={secret} path={path} />
        </li>
      ))}
    </ul>
  )
}

function Line({ isAllowed, children }: { isAllowed: boolean; children: string }) {
  return (
    <li className="flex items-start gap-2">
      <span className="mt-0.5 text-soft">
        <Icon name={isAllowed ? 'check' : 'close'} size={16} />
      </span>
      {children}
    </li>
  )
}

function SecretForm({ secret, path }: { secret: Secret; path: string }) {
  const toasts = useToasts()
  const [value, setValue] = useState('')
  const [isSet, setIsSet] = useState(secret.is_set)
  const [isBusy, setIsBusy] = useState(false)

  async function give(event: FormEvent): Promise<void> {
    event.preventDefault()
    setIsBusy(true)
    try {
      const secretPath = `${path}/secrets/${encodeURIComponent(secret.name)}`
      const { was_awaited } = await ask<CapabilitySecretReply>(secretPath, { method: 'PUT', body: { value } })
      setValue('')
      setIsSet(true)
      toasts.done(was_awaited ? `${secret.name} is kept. The build goes on.` : `${secret.name} is kept.`)
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <form className="max-w-xl" onSubmit={(event) => void give(event)}>
      <p className="mb-1 flex items-start gap-2">
        <span className="mt-0.5 text-soft">
          <Icon name="lock" size={16} />
        </span>
        <span className="min-w-0 flex-1">
          It is given the secret <code className="font-mono">{secret.name}</code>
          {secret.description && <span className="text-soft">, {secret.description}</span>}
        </span>
        <Badge kind={isSet ? 'good' : 'warn'}>{isSet ? 'Set' : 'Missing'}</Badge>
      </p>
      <div className="flex items-center gap-2 ps-6">
        <TextField
          label={`Secret ${secret.name}`}
          isLabelHidden
          className="flex-1"
          type="password"
          autoComplete="new-password"
          placeholder={isSet ? 'Type another to replace it' : 'Type it here; it is never shown again'}
          value={value}
          onChange={(event) => setValue(event.target.value)}
        />
        <Button type="submit" isBusy={isBusy} disabled={value === ''}>
          Keep
        </Button>
      </div>
    </form>
  )
}
