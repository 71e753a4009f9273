import type { OAuthClientProvider, StoredOAuthClientInformation } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { type Clock, sleep } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import { authMethodFor, clientFor, findAuthorization, type LoginOptions, saveLogin } from './begin-login.ts'
import { postForm } from './login.ts'

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'
const usualIntervalSeconds = 5
const maxIntervalSeconds = 60
const maxSeconds = 30 * 60
/** Registration requires one; this login never uses it. */
const unusedRedirectUrl = 'http://127.0.0.1/callback'

const withDevices = z.object({ device_authorization_endpoint: z.url().optional().catch(undefined) })

const deviceSchema = z.object({
  device_code: z.string().min(1).max(4_000),
  user_code: z.string().regex(/^[\x21-\x7e ]{1,64}$/),
  verification_uri: z.url({ protocol: /^https?$/ }),
  verification_uri_complete: z
    .url({ protocol: /^https?$/ })
    .optional()
    .catch(undefined),
  expires_in: z.number().positive(),
  interval: z.number().positive().optional(),
})

/** A login for a machine without a browser: the user types a code on another device (RFC 8628). */
export async function beginDeviceLogin(options: LoginOptions & { clock: Clock }) {
  const { address, clock, signal } = options
  const found = await findAuthorization(options)
  try {
    return await begin()
  } catch (cause) {
    await found.close()
    throw cause
  }

  async function begin() {
    const { sdk, fetch, explained, metadata, discovery, scope } = found
    const endpoint = withDevices.parse(metadata ?? {}).device_authorization_endpoint
    if (!metadata || endpoint === undefined) throw new Error('its authorization server has no login by code')
    const clientMetadata = {
      client_name: 'Familiar',
      redirect_uris: [unusedRedirectUrl],
      grant_types: [deviceGrant, 'refresh_token'],
      response_types: [],
      token_endpoint_auth_method: authMethodFor(metadata),
    }
    const register = () => {
      const given = { metadata, clientMetadata, ...(scope && { scope }), fetchFn: fetch }
      return explained(sdk.registerClient(discovery.authorizationServerUrl, given))
    }
    const client: StoredOAuthClientInformation = clientFor(address, metadata) ?? (await register())
    const provider: OAuthClientProvider = {
      redirectUrl: undefined,
      clientMetadata,
      clientInformation: () => client,
      prepareTokenRequest: () => new URLSearchParams({ grant_type: deviceGrant, device_code: device.device_code }),
      tokens: () => undefined,
      saveTokens: () => {},
      redirectToAuthorization: () => {},
      saveCodeVerifier: () => {},
      codeVerifier: () => '',
    }
    const resource = (await sdk.selectResourceURL(address.url, provider, discovery.resourceMetadata))?.href ?? null
    const response = await explained(
      postForm({
        url: endpoint,
        fields: { ...(scope && { scope }), ...(resource !== null && { resource }) },
        client,
        authMethods: metadata.token_endpoint_auth_methods_supported ?? [],
        fetch,
        signal,
      }),
    )
    const answer = parseJson(await response.text(), deviceSchema)
    if (!response.ok || !answer.ok) throw new Error(`its authorization server gave no code (${response.status})`)
    const device = answer.value
    const until = clock.now() + Math.min(device.expires_in, maxSeconds) * 1_000

    return {
      /** The page where the user types the code. */
      url: new URL(device.verification_uri),
      code: device.user_code,
      /** The same page, which knows the code. */
      completeUrl: device.verification_uri_complete === undefined ? null : new URL(device.verification_uri_complete),
      /** Resolves when the user has agreed and the login is stored. */
      async finish(): Promise<void> {
        let seconds = Math.min(device.interval ?? usualIntervalSeconds, maxIntervalSeconds)
        while (clock.now() < until) {
          await sleep(clock, seconds * 1_000, signal)
          const given = { metadata, ...(resource !== null && { resource: new URL(resource) }), fetchFn: fetch }
          try {
            const tokens = await explained(sdk.fetchToken(provider, discovery.authorizationServerUrl, given))
            return await saveLogin(options, found, { tokens, client, resource })
          } catch (cause) {
            const code: string = sdk.OAuthError.isInstance(cause) ? cause.code : ''
            if (code === 'slow_down') seconds = Math.min(seconds + usualIntervalSeconds, maxIntervalSeconds)
            else if (code === 'access_denied') throw new Error('the login was denied', { cause })
            else if (code !== 'authorization_pending') throw cause
          }
        }
        throw new Error('the code has expired')
      },
      close: () => found.close(),
    }
  }
}
