import { plural } from '../format.ts'

const headline = {
  approval: 'Autorisation requise',
  question: 'Familiar a une question',
  build_ready: 'Nouvel outil prêt',
  build_failed: 'Échec de la création',
  repair_ready: 'Outil réparé',
  repair_failed: 'Échec de la réparation',
  schedule: 'Tâche planifiée terminée',
  reply: 'Nouvelle réponse',
  reply_failed: 'Échec de la réponse',
}

const toasts: Partial<Record<keyof typeof headline, (name: string) => string>> = {
  build_ready: (name) => `« ${name} » est prêt à l’emploi`,
  repair_ready: (name) => `« ${name} » est réparé`,
  build_failed: (name) => `La création de « ${name} » a échoué. Ouvrez le journal pour les détails.`,
  repair_failed: (name) => `La réparation de « ${name} » a échoué. Ouvrez le journal pour les détails.`,
}

export const offlineStrings = {
  notRunning: 'Familiar n’est pas lancé',
  startIt: 'Lancez-le dans un terminal sur sa machine, ou vérifiez le réseau de cet appareil :',
  opensByItself: 'Cette page s’ouvre d’elle-même dès que Familiar répond.',
  waitingMessages: 'Messages qui seront alors envoyés',
  onlyFiles: 'Fichiers sans texte',
  cannotReach: 'Familiar est injoignable. Les messages sont gardés ici et envoyés à son retour.',
  waitingForConnection: 'En attente de connexion',
  notSent: (reason: string) => `Non envoyé : ${reason}`,
  alreadySent: 'Le message a déjà été envoyé.',
}

export const noticeStrings = {
  title: 'Notifications',
  unread: (count: number) => plural(count, { one: 'Notifications (# non lue)', other: 'Notifications (# non lues)' }),
  headline,
  toast: (kind: keyof typeof headline, name: string) => toasts[kind]?.(name) ?? `${headline[kind] ?? kind} : ${name}`,
  show: 'Afficher',
  none: 'Rien de nouveau',
  noneHint:
    'Les autorisations, les questions, les créations terminées, les tâches planifiées et les réponses non lues apparaissent ici.',
  turnOn: 'Activer les notifications',
  markAllRead: 'Tout marquer comme lu',
  settings: 'Paramètres des notifications',
  systemNotifications: 'Notifications sur cet appareil',
  stateHint: {
    absent:
      'Ce navigateur n’affiche pas de notifications ici. Il faut HTTPS, ou la page sur la machine qui exécute Familiar.',
    blocked: 'Ce navigateur bloque les notifications de Familiar. Autorisez-les dans ses paramètres de site.',
    off: 'Affichées pendant que Familiar est en arrière-plan.',
    on: 'Affichées pendant que Familiar est en arrière-plan.',
  },
  announceThese: 'Recevoir une notification pour',
  groups: {
    approvals: 'Autorisations',
    questions: 'Questions',
    builds: 'Créations terminées',
    schedules: 'Tâches planifiées',
    replies: 'Réponses',
  },
  bellShowsAll: 'La liste derrière la cloche les affiche toutes.',
}
