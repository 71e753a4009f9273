import type { DoctorReply, ModelsReply, SettingsReply } from '../../protocol/home-api.ts'

/** The home itself, for those who look at it. None of it shows a secret, and none of it changes anything. */
export interface HttpHome {
  /** Two that are asked for at once are one. */
  examine(options: { network: boolean }): Promise<DoctorReply['findings']>
  settings(): SettingsReply
  /** Those that the user may use. What is the owner's to know is left out for others. */
  models(userId: string, isOwner: boolean): ModelsReply
}
