"""The leader as Pulsar's ModularLoadManagerImpl has it: one object after the other, in its words.

Plain on purpose.  What `trimtab.pulsar.leader` does with arrays is held against this, and this
against recorded answers of the class.
"""
