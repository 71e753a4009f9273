import { webSearchDestination } from '../tools/builtin/web/web-search.ts'
import { speechDestination } from '../voice/create-speaker.ts'
import type { Config } from './config/config.ts'

/** Where calls may go unasked: what the owner listed, and the services that the owner set up for Familiar to ask. */
export function declaredDestinations({ policy, tools }: Config): string[] {
  const services = [webSearchDestination(tools.webSearch), speechDestination(tools.tts)]
  return [...policy.destinations, ...services.filter((service) => service !== null)]
}
